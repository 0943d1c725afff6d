// exa-store-bench: one measurement of values on a disk, by our store or by RocksDB driven raw.
//
//   exa-store-bench WHAT none|wal|sync put|get DIRECTORY VALUE_BYTES COUNT THREADS
//
// WHAT: store (ours), blob (RocksDB with blob files), table (RocksDB, values in its tables), fifo (the same with FIFO
// compaction). Values are sealed segments, sealed before the clock starts. `put` ends when everything is with the disk
// or its log; `get` reads what a put before it has left in the same directory, each value once in a random order,
// through direct I/O. Prints {"mb_s": megabytes (10^6) a second, "p50_us": ..., "p99_us": ...}.
#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/rng.h"
#include "io/clock/system_clock.h"
#include "io/crypto/openssl_crypto.h"
#include "io/store/segment_store.h"

namespace {

using Clock = std::chrono::steady_clock;

const exa::io::crypto::OpenSslCrypto crypto;
const exa::kv::SegmentSealer sealer(crypto, exa::as_bytes("a secret of this measurement"));

struct Arguments {
    std::string what, durability, verb, directory;
    std::size_t bytes, count, threads;
    std::uint64_t capacity;
};

[[noreturn]] void fail(const std::string& why) {
    std::fprintf(stderr, "exa-store-bench: %s\n", why.c_str());
    std::exit(2);
}

exa::kv::SegmentKey key_of(std::uint64_t n) {
    return {crypto.sha256(exa::as_bytes("segment " + std::to_string(n)))};
}

exa::kv::SealedSegment segment(std::uint64_t n, std::size_t bytes) {
    exa::kv::SegmentHead head;
    head.key = key_of(n);
    const auto buffer = std::make_shared<exa::kv::SegmentBuffer>(bytes);
    exa::Rng rng(n);
    const auto payload = buffer->bytes().subspan(exa::kv::segment_header_size);
    for (std::size_t i = 0; i + 8 <= payload.size(); i += 8) {
        const std::uint64_t word = rng.next();
        std::copy_n(reinterpret_cast<const std::uint8_t*>(&word), 8, payload.begin() + static_cast<std::ptrdiff_t>(i));
    }
    sealer.seal(head, *buffer);
    return buffer;
}

// Somewhere to put values and get them from. Any number of threads.
class Place {
  public:
    virtual ~Place() = default;
    virtual bool put(const exa::kv::SegmentKey& key, const exa::kv::SealedSegment& value) = 0;
    virtual bool get(const exa::kv::SegmentKey& key) = 0;
    virtual void finish() = 0;
};

class Store final : public Place {
  public:
    explicit Store(const Arguments& arguments) {
        exa::io::store::StoreConfig config;
        config.directory = arguments.directory;
        config.capacity_bytes = arguments.capacity;
        config.durability = arguments.durability == "sync"  ? exa::io::store::Durability::sync
                            : arguments.durability == "wal" ? exa::io::store::Durability::wal
                                                            : exa::io::store::Durability::none;
        auto opened = exa::io::store::SegmentStore::open(config, sealer, clock_.wall(), log_);
        if (opened.has_error()) fail(opened.error().message());
        store_ = std::move(opened).value();
    }
    bool put(const exa::kv::SegmentKey&, const exa::kv::SealedSegment& value) override {
        return store_->put(clock_.wall(), std::span(&value, 1))[0] == exa::io::store::PutOutcome::stored;
    }
    bool get(const exa::kv::SegmentKey& key) override { return store_->get(clock_.wall(), key) != nullptr; }
    void finish() override { store_->maintain(clock_.wall()); }

    exa::io::store::SegmentStore& store() { return *store_; }

  private:
    exa::io::clock::SystemClock clock_;
    exa::NullLog log_;
    std::unique_ptr<exa::io::store::SegmentStore> store_;
};

class Rocks final : public Place {
  public:
    explicit Rocks(const Arguments& arguments) {
        rocksdb::Options options;
        options.create_if_missing = true;
        options.compression = rocksdb::kNoCompression;
        options.use_direct_reads = true;
        options.use_direct_io_for_flush_and_compaction = true;
        options.write_buffer_size = 64 << 20;
        options.max_write_buffer_number = 4;
        options.max_total_wal_size = 256 << 20;
        options.max_background_jobs = 4;
        options.max_background_flushes = 2;
        options.writable_file_max_buffer_size = 8 << 20;
        options.target_file_size_base = 256 << 20;
        rocksdb::BlockBasedTableOptions table;
        table.checksum = rocksdb::kXXH3;
        table.no_block_cache = true;
        options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
        if (arguments.what == "blob") {
            options.enable_blob_files = true;
            options.blob_file_size = 256 << 20;
        } else if (arguments.what == "fifo") {
            options.compaction_style = rocksdb::kCompactionStyleFIFO;
            options.compaction_options_fifo.max_table_files_size = 1ull << 40;
        }
        rocksdb::DB* db = nullptr;
        const rocksdb::Status status = rocksdb::DB::Open(options, arguments.directory, &db);
        if (!status.ok()) fail(status.ToString());
        db_.reset(db);
        write_.disableWAL = arguments.durability == "none";
        write_.sync = arguments.durability == "sync";
        // As our own checksum stands in the value.
        read_.verify_checksums = false;
    }
    bool put(const exa::kv::SegmentKey& key, const exa::kv::SealedSegment& value) override {
        const auto bytes = value->view();
        return db_->Put(write_, slice(key.bytes.data(), key.bytes.size()), slice(bytes.data(), bytes.size())).ok();
    }
    bool get(const exa::kv::SegmentKey& key) override {
        rocksdb::PinnableSlice value;
        return db_->Get(read_, db_->DefaultColumnFamily(), slice(key.bytes.data(), key.bytes.size()), &value).ok();
    }
    void finish() override { db_->Flush({}).PermitUncheckedError(); }

  private:
    static rocksdb::Slice slice(const std::uint8_t* bytes, std::size_t size) {
        return {reinterpret_cast<const char*>(bytes), size};
    }
    std::unique_ptr<rocksdb::DB> db_;
    rocksdb::WriteOptions write_;
    rocksdb::ReadOptions read_;
};

std::uint64_t disk_bytes(const std::filesystem::path& directory) {
    std::uint64_t bytes = 0;
    std::error_code gone;
    for (const auto& file : std::filesystem::recursive_directory_iterator(directory, gone)) {
        struct stat status{};
        if (::lstat(file.path().c_str(), &status) == 0) bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
    }
    return bytes;
}

int fill(const Arguments& arguments) {
    Store store(arguments);
    std::atomic<std::size_t> next = 0, stored = 0, refused = 0, hits = 0;
    std::atomic<bool> done = false;
    std::atomic<std::uint64_t> most = 0;
    std::jthread watch([&] {
        for (std::size_t i = 0; !done; ++i) {
            most = std::max<std::uint64_t>(most, disk_bytes(arguments.directory));
            if (i % 20 == 0) store.finish();
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
    });
    {
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t < arguments.threads; ++t) {
            threads.emplace_back([&] {
                for (std::size_t n = next++; n < arguments.count; n = next++) {
                    ++(store.put(key_of(n), segment(n, arguments.bytes)) ? stored : refused);
                    if (store.get(key_of(n / 2))) ++hits;
                }
            });
        }
    }
    done = true;
    watch.join();
    const exa::io::store::StoreStats stats = store.store().stats();
    std::printf(
        "{\"stored\": %zu, \"refused\": %zu, \"hits\": %zu, \"entries\": %llu, \"evicted\": %llu, "
        "\"corrupt\": %llu, \"disk_errors\": %llu, \"most_bytes\": %llu, \"capacity_bytes\": %llu}\n",
        stored.load(), refused.load(), hits.load(), static_cast<unsigned long long>(stats.entries),
        static_cast<unsigned long long>(stats.evicted), static_cast<unsigned long long>(stats.corrupt),
        static_cast<unsigned long long>(stats.disk_errors), static_cast<unsigned long long>(most.load()),
        static_cast<unsigned long long>(arguments.capacity));
    return 0;
}

int open(const Arguments& arguments) {
    const auto start = Clock::now();
    Store store(arguments);
    const double opened = std::chrono::duration<double>(Clock::now() - start).count();
    exa::io::store::ScrubReport all;
    do {
        const exa::io::store::ScrubReport report = store.store().scrub(all.next, 100);
        all.checked += report.checked;
        all.dropped += report.dropped;
        all.next = report.next;
    } while (all.next);
    const double scrubbed = std::chrono::duration<double>(Clock::now() - start).count() - opened;
    std::printf("{\"open_s\": %.3f, \"entries\": %llu, \"dropped\": %llu, \"scrub_mb_s\": %.0f}\n", opened,
                static_cast<unsigned long long>(all.checked), static_cast<unsigned long long>(all.dropped),
                static_cast<double>(all.checked * arguments.bytes) / 1e6 / scrubbed);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 8 && argc != 9)
        fail(
            "usage: exa-store-bench WHAT none|wal|sync put|get|fill|open DIRECTORY VALUE_BYTES COUNT THREADS "
            "[CAPACITY]");
    const auto number = [&](int i) { return static_cast<std::size_t>(std::strtoull(argv[i], nullptr, 10)); };
    const Arguments arguments{
        argv[1],   argv[2],   argv[3],   argv[4],
        number(5), number(6), number(7), argc == 9 ? number(8) : 2 * number(5) * number(6) + (1ull << 30)};
    if (arguments.bytes < exa::kv::segment_header_size || arguments.count == 0 || arguments.threads == 0)
        fail("nothing to measure");
    if (arguments.verb == "fill") return fill(arguments);
    if (arguments.verb == "open") return open(arguments);
    std::unique_ptr<Place> place;
    if (arguments.what == "store")
        place = std::make_unique<Store>(arguments);
    else
        place = std::make_unique<Rocks>(arguments);

    const bool puts = arguments.verb == "put";
    // Few bodies under many keys would not do: the store checks that a body belongs to its key.
    std::vector<exa::kv::SegmentKey> keys(arguments.count);
    std::vector<exa::kv::SealedSegment> values(puts ? arguments.count : 0);
    for (std::size_t n = 0; n < arguments.count; ++n) {
        keys[n] = key_of(n);
        if (puts) values[n] = segment(n, arguments.bytes);
    }
    std::vector<std::size_t> order(arguments.count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    exa::Rng rng(7);
    if (!puts) rng.shuffle(std::span(order));

    std::atomic<std::size_t> next = 0;
    std::atomic<std::size_t> failed = 0;
    std::vector<double> micros(arguments.count);
    const auto start = Clock::now();
    {
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t < arguments.threads; ++t) {
            threads.emplace_back([&] {
                for (std::size_t i = next++; i < arguments.count; i = next++) {
                    const auto before = Clock::now();
                    const std::size_t n = order[i];
                    if (!(puts ? place->put(keys[n], values[n]) : place->get(keys[n]))) ++failed;
                    micros[i] = std::chrono::duration<double, std::micro>(Clock::now() - before).count();
                }
            });
        }
    }
    if (puts) place->finish();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (failed != 0) fail(std::to_string(failed) + " of " + std::to_string(arguments.count) + " failed");
    std::ranges::sort(micros);
    std::printf("{\"mb_s\": %.1f, \"p50_us\": %.0f, \"p99_us\": %.0f}\n",
                static_cast<double>(arguments.bytes) * static_cast<double>(arguments.count) / 1e6 / seconds,
                micros[micros.size() / 2], micros[micros.size() * 99 / 100]);
    return 0;
}
