#include "io/store/index_db.h"

#include <fmt/format.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <array>
#include <string>
#include <system_error>
#include <utility>

#include "io/errc.h"

namespace exa::io::store {

namespace {

constexpr std::size_t name_size = 40;
constexpr std::size_t record_size = 30;
constexpr std::uint8_t record_version = 1;

template <class T>
char* put_le(char* at, T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) *at++ = static_cast<char>(value >> (8 * i));
    return at;
}

template <class T>
T get_le(const char*& at) {
    T value = 0;
    for (std::size_t i = sizeof(T); i-- > 0;) value = static_cast<T>(value << 8 | static_cast<std::uint8_t>(at[i]));
    at += sizeof(T);
    return value;
}

using Name = std::array<char, name_size>;
using Record = std::array<char, record_size>;

rocksdb::Slice slice(const auto& bytes) {
    return {bytes.data(), bytes.size()};
}

Name name_of(const kv::StoreEntry& entry) {
    Name name;
    put_le(std::copy(entry.key.bytes.begin(), entry.key.bytes.end(), name.data()), entry.place);
    return name;
}

Record record_of(const kv::StoreEntry& entry) {
    Record record;
    char* at = put_le(record.data(), record_version);
    at = put_le(at, static_cast<std::uint8_t>(entry.kind));
    at = put_le(at, entry.bytes);
    at = put_le(at, entry.last_use_s);
    at = put_le(at, entry.expires_s);
    at = put_le(at, entry.tenant);
    put_le(at, entry.stamp);
    return record;
}

std::optional<kv::StoreEntry> read_entry(const rocksdb::Slice& name, const rocksdb::Slice& record) {
    if (name.size() != name_size || record.size() != record_size) return std::nullopt;
    kv::StoreEntry entry;
    std::copy_n(name.data(), entry.key.bytes.size(), entry.key.bytes.begin());
    const char* place = name.data() + entry.key.bytes.size();
    entry.place = get_le<std::uint64_t>(place);
    const char* at = record.data();
    if (get_le<std::uint8_t>(at) != record_version) return std::nullopt;
    const auto kind = get_le<std::uint8_t>(at);
    if (kind > static_cast<std::uint8_t>(kv::SegmentKind::tombstone)) return std::nullopt;
    entry.kind = static_cast<kv::SegmentKind>(kind);
    entry.bytes = get_le<std::uint32_t>(at);
    entry.last_use_s = get_le<std::uint32_t>(at);
    entry.expires_s = get_le<std::uint32_t>(at);
    entry.tenant = get_le<std::uint64_t>(at);
    entry.stamp = get_le<std::uint64_t>(at);
    if (!kv::is_valid_sealed_size(entry.bytes)) return std::nullopt;
    return entry;
}

rocksdb::Options options_of(bool direct_io) {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.compression = rocksdb::kNoCompression;
    options.write_buffer_size = 4 << 20;
    options.max_write_buffer_number = 3;
    options.target_file_size_base = 8 << 20;
    options.max_total_wal_size = 16 << 20;
    options.max_open_files = 256;
    options.max_background_jobs = 2;
    options.use_direct_reads = direct_io;
    options.use_direct_io_for_flush_and_compaction = direct_io;
    options.info_log_level = rocksdb::WARN_LEVEL;
    options.max_log_file_size = 1 << 20;
    options.keep_log_file_num = 2;
    options.max_manifest_file_size = 4 << 20;
    rocksdb::BlockBasedTableOptions table;
    table.checksum = rocksdb::kXXH3;
    table.block_size = 16 << 10;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    return options;
}

class RocksIndexDb final : public IndexDb {
  public:
    RocksIndexDb(std::unique_ptr<rocksdb::DB> db, Durability durability, bool rebuilt)
        : db_(std::move(db)), durability_(durability), rebuilt_(rebuilt) {}

    bool rebuilt() const override { return rebuilt_; }

    std::vector<kv::StoreEntry> load() override {
        std::vector<kv::StoreEntry> entries;
        rocksdb::ReadOptions all;
        all.readahead_size = 2 << 20;
        all.fill_cache = false;
        const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator(all));
        for (at->SeekToFirst(); at->Valid(); at->Next()) {
            if (const auto entry = read_entry(at->key(), at->value()))
                entries.push_back(*entry);
            else
                db_->Delete({}, at->key());
        }
        return entries;
    }

    std::vector<kv::StoreEntry> page(const std::optional<kv::SegmentKey>& after, std::size_t limit) const override {
        std::vector<kv::StoreEntry> entries;
        const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator({}));
        if (after) {
            Name start;
            std::fill(std::copy(after->bytes.begin(), after->bytes.end(), start.begin()), start.end(), '\xff');
            at->Seek(slice(start));
        } else {
            at->SeekToFirst();
        }
        for (; at->Valid() && entries.size() < limit; at->Next())
            if (const auto entry = read_entry(at->key(), at->value())) entries.push_back(*entry);
        return entries;
    }

    bool put(std::span<const kv::StoreEntry> entries) override {
        rocksdb::WriteOptions how;
        how.disableWAL = durability_ == Durability::none;
        how.sync = durability_ == Durability::sync;
        return write(entries, how);
    }

    bool erase(std::span<const kv::StoreEntry> entries) override {
        rocksdb::WriteBatch batch;
        for (const kv::StoreEntry& entry : entries) batch.Delete(slice(name_of(entry)));
        rocksdb::WriteOptions how;
        how.disableWAL = durability_ == Durability::none;
        return db_->Write(how, &batch).ok();
    }

    bool refresh(std::span<const kv::StoreEntry> entries) override {
        rocksdb::WriteOptions how;
        how.disableWAL = true;
        return write(entries, how);
    }

    bool flush() override { return db_->Flush({}).ok(); }
    void resume() override { db_->Resume().PermitUncheckedError(); }

  private:
    bool write(std::span<const kv::StoreEntry> entries, const rocksdb::WriteOptions& how) {
        rocksdb::WriteBatch batch;
        for (const kv::StoreEntry& entry : entries) batch.Put(slice(name_of(entry)), slice(record_of(entry)));
        return db_->Write(how, &batch).ok();
    }

    std::unique_ptr<rocksdb::DB> db_;
    Durability durability_;
    bool rebuilt_;
};

}  // namespace

Result<std::unique_ptr<IndexDb>> IndexDb::open(const std::filesystem::path& directory, Durability durability,
                                               bool direct_io) {
    const rocksdb::Options options = options_of(direct_io);
    rocksdb::DB* opened = nullptr;
    rocksdb::Status status = rocksdb::DB::Open(options, directory.string(), &opened);
    bool rebuilt = false;
    if (status.IsCorruption()) {
        std::error_code ignored;
        std::filesystem::path aside = directory;
        aside += ".damaged";
        std::filesystem::remove_all(aside, ignored);
        std::filesystem::rename(directory, aside, ignored);
        rebuilt = true;
        status = rocksdb::DB::Open(options, directory.string(), &opened);
    }
    if (!status.ok()) return error(errc::store_unusable, status.ToString());
    return std::make_unique<RocksIndexDb>(std::unique_ptr<rocksdb::DB>(opened), durability, rebuilt);
}

}  // namespace exa::io::store
