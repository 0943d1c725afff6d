#include "app/resp/version.h"

#include <boost/test/unit_test.hpp>
#include <string>

#include "app/resp/value.h"
#include "support/print.h"
#include "unit/app/kv/fakes.h"

using namespace exa;
using namespace exa::app;
using namespace exa::app::resp;
using namespace exa::app::test;

namespace {

const exa::kv::SegmentKey first_key = resp_key(crypto, Digest{}, "k");

// Of `parts`, as a set makes it.
RespVersion version_of(const std::vector<std::string>& parts, std::uint64_t stamp = 7) {
    RespVersion version;
    version.stamp = stamp;
    version.tag = 3;
    version.sealing = std::make_shared<std::once_flag>();
    std::uint64_t bytes = 0;
    for (std::uint32_t i = 0; i < parts.size(); ++i) {
        const std::size_t before = exa::kv::segment_header_size + (i == 0 ? resp_head_size(1) : 0);
        version.parts.push_back(std::make_shared<exa::kv::SegmentBuffer>(before + parts[i].size()));
        std::ranges::copy(as_bytes(parts[i]), version.parts[i]->bytes().subspan(before).begin());
        version.keys.push_back(resp_part_key(crypto, first_key, stamp, i));
        bytes += parts[i].size();
    }
    write_resp_head({"k", static_cast<std::uint32_t>(parts.size()), bytes, 0, {}},
                    version.parts[0]->bytes().subspan(exa::kv::segment_header_size));
    return version;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(resp_version)

BOOST_AUTO_TEST_CASE(a_sealed_version_reads_as_it_was_written) {
    const RespVersion written = version_of({std::string(resp_part_bytes_max, 'a'), "rest"});
    seal_resp(written, sealer);
    for (std::size_t i = 0; i < 2; ++i)
        BOOST_TEST(sealer.verify(written.keys[i], written.parts[i]->view()).has_value());
    auto read = resp_version_of(crypto, first_key, "k", written.parts[0]);
    BOOST_REQUIRE(read.has_value());
    BOOST_TEST(read->stamp == 7u);
    BOOST_TEST(read->tag == 3u);
    BOOST_TEST(read->keys == written.keys);
    BOOST_TEST(!is_resp_whole(*read));
    BOOST_TEST(add_resp_part(*read, written.parts[1]));
    BOOST_TEST(is_resp_whole(*read));
    BOOST_TEST(resp_view(*read).size() == resp_part_bytes_max + 4);
}

BOOST_AUTO_TEST_CASE(sealing_again_changes_nothing) {
    const RespVersion version = version_of({"value"});
    seal_resp(version, sealer);
    const Bytes before(version.parts[0]->view().begin(), version.parts[0]->view().end());
    seal_resp(RespVersion(version), sealer);
    BOOST_TEST(std::ranges::equal(before, version.parts[0]->view()));
}

BOOST_AUTO_TEST_CASE(another_users_key_a_removal_or_a_part_is_no_first_part) {
    const RespVersion version = version_of({"value"});
    seal_resp(version, sealer);
    BOOST_TEST(!resp_version_of(crypto, first_key, "other", version.parts[0]).has_value());
    const RespVersion removal = resp_removal(first_key, 9, 3);
    seal_resp(removal, sealer);
    BOOST_TEST(sealer.verify(first_key, removal.parts[0]->view()).has_value());
    BOOST_TEST(!resp_version_of(crypto, first_key, "k", removal.parts[0]).has_value());
    BOOST_TEST(!resp_version_of(crypto, first_key, "k", sealed(1)).has_value());
}

BOOST_AUTO_TEST_CASE(parts_of_two_writes_do_not_meet) {
    const RespVersion one = version_of({std::string(resp_part_bytes_max, 'a'), "rest"}, 7);
    const RespVersion other = version_of({std::string(resp_part_bytes_max, 'b'), "REST"}, 8);
    seal_resp(one, sealer);
    seal_resp(other, sealer);
    auto read = resp_version_of(crypto, first_key, "k", one.parts[0]);
    BOOST_TEST(!add_resp_part(*read, other.parts[1]));
    BOOST_TEST(!is_resp_whole(*read));
}

BOOST_AUTO_TEST_CASE(what_has_expired_or_was_removed_is_told_of_with_its_stamp_and_no_size) {
    RespVersion version = version_of({"value"});
    version.expires_ms = 1000;
    BOOST_TEST(version.item(999).bytes == version.parts[0]->size());
    BOOST_TEST(version.item(1000).bytes == 0u);
    BOOST_TEST(version.item(1000).stamp == 7u);
    BOOST_TEST(resp_removal(first_key, 9, 3).item(0).bytes == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
