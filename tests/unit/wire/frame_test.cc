#include "wire/frame.h"
#include "support/print.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <limits>
#include <string>

#include "base/rng.h"
#include "wire/errc.h"

using namespace exa::wire;
using exa::Bytes;

namespace {

using Header = std::array<std::uint8_t, frame_header_size>;

// Offers `bytes` in steps of `step` and gives back the frames that came out.
std::vector<std::pair<FrameHeader, Bytes>> cut(FrameReader& reader, const Bytes& bytes, std::size_t step) {
    std::vector<std::pair<FrameHeader, Bytes>> frames;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
        const std::size_t size = std::min(step, bytes.size() - at);
        auto room = reader.prepare(size);
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), size, room.begin());
        reader.commit(size);
        while (true) {
            auto next = reader.next();
            BOOST_TEST_REQUIRE(next.has_value());
            if (!next.value()) break;
            frames.emplace_back(next.value()->header,
                                Bytes(next.value()->payload.begin(), next.value()->payload.end()));
        }
    }
    return frames;
}

bool refused(const Header& header, errc code) {
    const auto decoded = decode_frame_header(header);
    return !decoded.has_value() && decoded.error().code == make_error_code(code);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(frame)

BOOST_AUTO_TEST_CASE(header_survives_bytes_and_back) {
    const FrameHeader header{FrameType::data, 0x01020304, 0x000a0b0c};
    const Header bytes = encode_frame_header(header);
    BOOST_TEST(bytes == (Header{0x0c, 0x0b, 0x0a, 0, 4, 0, 0, 0, 4, 3, 2, 1}));
    BOOST_TEST(decode_frame_header(bytes).value() == header);
    const FrameHeader other{FrameType::data, 5, 9, 127};
    BOOST_TEST(decode_frame_header(encode_frame_header(other)).value() == other);
}

BOOST_AUTO_TEST_CASE(headers_outside_the_protocol_are_refused) {
    BOOST_TEST(refused({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, errc::unknown_kind));
    BOOST_TEST(refused({0, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0}, errc::unknown_kind));
    BOOST_TEST(refused({1, 0, 0x10, 0, 4, 0, 0, 0, 1, 0, 0, 0}, errc::oversized));
    BOOST_TEST(refused({0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 1, 0, 0, 0}, errc::oversized));
    BOOST_TEST(refused({0, 0, 0, 0, 8, 1, 0, 0, 0, 0, 0, 0}, errc::malformed));
    BOOST_TEST(refused({0, 0, 0, 0, 8, 0, 0, 1, 0, 0, 0, 0}, errc::malformed));
    BOOST_TEST(refused({0, 0, 0, 0, 3, 0, 1, 0, 1, 0, 0, 0}, errc::malformed));    // a head of choice 1
    BOOST_TEST(refused({0, 0, 0, 0, 4, 0, 128, 0, 1, 0, 0, 0}, errc::malformed));  // data of choice 128
    BOOST_TEST(refused({0, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0}, errc::malformed));    // a ping on a stream
    BOOST_TEST(refused({0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0}, errc::malformed));    // data on none
}

BOOST_AUTO_TEST_CASE(frames_come_out_whole_however_the_bytes_are_cut) {
    Bytes bytes;
    std::vector<std::pair<FrameHeader, Bytes>> sent;
    exa::Rng rng(1);
    for (std::uint32_t i = 0; i < 30; ++i) {
        Bytes payload(rng.below(5'000));
        for (auto& byte : payload) byte = static_cast<std::uint8_t>(rng.next());
        const Bytes frame = encode_frame(FrameType::data, i + 1, payload);
        bytes.insert(bytes.end(), frame.begin(), frame.end());
        sent.push_back({{FrameType::data, i + 1, static_cast<std::uint32_t>(payload.size())}, payload});
    }
    for (const std::size_t step : {1UL, 7UL, 1000UL, 100'000UL}) {
        FrameReader reader;
        reader.accept_all();
        BOOST_TEST(cut(reader, bytes, step) == sent, "step " << step);
    }
}

BOOST_AUTO_TEST_CASE(announced_length_allocates_nothing) {
    FrameReader reader;
    reader.accept_all();
    const Header header = encode_frame_header({FrameType::open, 1, frame_payload_max(FrameType::open)});
    std::ranges::copy(header, reader.prepare(header.size()).begin());
    reader.commit(header.size());
    BOOST_TEST(!reader.next().value().has_value());
    BOOST_TEST(reader.prepare().size() < 100'000);
}

BOOST_AUTO_TEST_CASE(what_is_coming_of_a_frame_can_be_taken_and_the_rest_left_to_the_caller) {
    FrameReader reader;
    reader.accept_all();
    BOOST_TEST(!reader.coming().has_value());
    const Bytes payload(1000, 7);
    const Bytes first = encode_frame(FrameType::data, 3, payload);
    const auto offer = [&](std::size_t begin, std::size_t end) {
        const auto room = reader.prepare(end - begin);
        std::copy(first.begin() + static_cast<std::ptrdiff_t>(begin), first.begin() + static_cast<std::ptrdiff_t>(end),
                  room.begin());
        reader.commit(end - begin);
        BOOST_TEST(!reader.next().value().has_value());
    };
    offer(0, frame_header_size - 1);
    BOOST_TEST(!reader.coming().has_value());
    offer(frame_header_size - 1, frame_header_size + 300);
    BOOST_TEST(reader.coming()->payload.size() == 300U);
    const FramePart part = reader.take_coming();
    BOOST_TEST(part.header == (FrameHeader{FrameType::data, 3, 1000}));
    BOOST_TEST(part.payload.size() == 300U);
    BOOST_TEST(part.missing == 700U);
    BOOST_TEST(!reader.coming().has_value());
    // The next frame follows what the caller has read.
    const auto frames = cut(reader, encode_frame(FrameType::ping, 0, Bytes{1}), 5);
    BOOST_TEST(frames.size() == 1U);
}

BOOST_AUTO_TEST_CASE(an_unauthenticated_peer_may_only_greet) {
    for (const FrameType type : {FrameType::ping, FrameType::sync, FrameType::open}) {
        FrameReader reader;
        const Bytes frame = encode_frame(type, type == FrameType::open ? 1 : 0, {});
        std::ranges::copy(frame, reader.prepare(frame.size()).begin());
        reader.commit(frame.size());
        BOOST_TEST(!reader.next().has_value());
        BOOST_TEST(!reader.next().has_value());
        reader.accept_all();
        BOOST_TEST(reader.next().value().has_value());
    }
}

BOOST_AUTO_TEST_CASE(broken_stream_stays_broken) {
    FrameReader reader;
    reader.accept_all();
    Bytes bytes = encode_frame(FrameType::ping, 0, {});
    bytes.resize(bytes.size() + frame_header_size, 0xee);
    std::ranges::copy(bytes, reader.prepare(bytes.size()).begin());
    reader.commit(bytes.size());
    BOOST_TEST(reader.next().value().has_value());
    BOOST_TEST(!reader.next().has_value());
    BOOST_TEST(!reader.next().has_value());
}

BOOST_AUTO_TEST_CASE(every_type_has_a_name_and_a_bound) {
    for (int type = 1; type <= 11; ++type) {
        BOOST_TEST(std::string(to_string(static_cast<FrameType>(type))) != "unknown");
        BOOST_TEST(frame_payload_max(static_cast<FrameType>(type)) <= 18U * 1024 * 1024);
    }
}

BOOST_AUTO_TEST_SUITE_END()
