#include "app/resp/value.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "io/crypto/openssl_crypto.h"
#include "support/print.h"

using namespace exa;
using namespace exa::app;
using namespace exa::app::resp;

namespace {

const io::crypto::OpenSslCrypto crypto;

Bytes payload_of(const RespValueHead& head, std::string_view data) {
    Bytes payload(resp_head_size(head.key.size()));
    write_resp_head(head, payload);
    payload.insert(payload.end(), data.begin(), data.end());
    return payload;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(resp_value)

BOOST_AUTO_TEST_CASE(a_head_reads_as_it_was_written) {
    const Bytes payload = payload_of({"the key", 3, 1000, 1'800'000'000'123, {}}, "first bytes");
    const auto head = read_resp_head(payload);
    BOOST_REQUIRE(head.has_value());
    BOOST_TEST(head->key == "the key");
    BOOST_TEST(head->parts == 3u);
    BOOST_TEST(head->bytes == 1000u);
    BOOST_TEST(head->expires_ms == 1'800'000'000'123);
    BOOST_TEST(as_text(head->data) == "first bytes");
    BOOST_TEST(read_resp_head(payload_of({"", 1, 0, 0, {}}, ""))->data.empty());
}

// Peers keep these: a change makes every value a miss.
BOOST_AUTO_TEST_CASE(bytes_and_keys_are_the_form_on_the_disk) {
    BOOST_TEST(to_hex(payload_of({"k", 1, 2, 5, {}}, "vv")) ==
               "6578612d7273700101000000010000000200000000000000050000000000000"
               "06b7676");
    const auto digest = [](const std::string& domain, const std::string& text) {
        return to_hex(crypto.sha256(as_bytes(domain + std::string(32, '\0') + text)));
    };
    const exa::kv::SegmentKey first = resp_key(crypto, Digest{}, "kmetadata");
    BOOST_TEST(exa::kv::to_string(first) == digest("exaserve resp stem 1", "k").substr(0, 16) +
                                                digest("exaserve resp value 1", "kmetadata").substr(16));
}

BOOST_AUTO_TEST_CASE(twins_and_parts_have_one_place_and_keys_of_their_own) {
    const exa::kv::SegmentKey bytes = resp_key(crypto, Digest{}, "model@1@0@abc@halfkv_bytes");
    const exa::kv::SegmentKey metadata = resp_key(crypto, Digest{}, "model@1@0@abc@halfmetadata");
    BOOST_TEST(bytes != metadata);
    BOOST_TEST(exa::kv::placement(bytes) == exa::kv::placement(metadata));
    BOOST_TEST(exa::kv::placement(bytes) !=
               exa::kv::placement(resp_key(crypto, Digest{}, "model@1@0@abd@halfkv_bytes")));
    std::set<exa::kv::SegmentKey> parts;
    for (std::uint32_t part = 0; part < 64; ++part) {
        const exa::kv::SegmentKey key = resp_part_key(crypto, bytes, 7, part);
        BOOST_TEST(exa::kv::placement(key) == exa::kv::placement(bytes));
        BOOST_TEST(parts.insert(key).second);
    }
    BOOST_TEST(resp_part_key(crypto, bytes, 7, 0) == bytes);
    BOOST_TEST(resp_part_key(crypto, bytes, 8, 1) != resp_part_key(crypto, bytes, 7, 1));
    // An ending alone is a stem.
    BOOST_TEST(resp_stem("metadata") == "metadata");
    BOOST_TEST(resp_stem("kv_bytes2") == "kv_bytes2");
    BOOST_TEST(resp_stem("akv_bytes") == "a");
}

BOOST_AUTO_TEST_CASE(what_is_no_head_is_refused) {
    const Bytes payload = payload_of({"key", 1, 4, 0, {}}, "data");
    for (std::size_t size = 0; size < payload.size(); ++size)
        BOOST_TEST(!read_resp_head(ByteView(payload).first(size)).has_value());
    const auto with = [&](std::size_t at, std::uint8_t byte) {
        Bytes changed = payload;
        changed[at] = byte;
        return read_resp_head(changed).has_value();
    };
    BOOST_TEST(!with(0, 0));
    BOOST_TEST(!with(11, 0xff));
    BOOST_TEST(!with(12, 0));
    BOOST_TEST(!with(16, 3));
    BOOST_TEST(!with(16, 5));
    BOOST_TEST(!with(23, 0xff));
}

BOOST_AUTO_TEST_CASE(keys_tell_tenants_values_writes_and_parts_apart) {
    Digest other{};
    other[0] = 1;
    const exa::kv::SegmentKey key = resp_key(crypto, Digest{}, "a");
    const std::set<exa::kv::SegmentKey> keys = {key,
                                                resp_key(crypto, other, "a"),
                                                resp_key(crypto, Digest{}, "b"),
                                                resp_part_key(crypto, key, 1, 1),
                                                resp_part_key(crypto, key, 1, 2),
                                                resp_part_key(crypto, key, 2, 1)};
    BOOST_TEST(keys.size() == 6u);
}

BOOST_AUTO_TEST_SUITE_END()
