// Frames and link messages: whatever is sent comes out the same, whatever comes in is survived.
#include <rapidcheck.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "wire/frame.h"
#include "wire/link_messages.h"

using namespace exa::wire;
using exa::Bytes;
using exa::ByteView;

namespace {

ByteView payload_of(const Bytes& frame) {
    return ByteView(frame).subspan(frame_header_size);
}

// Feeds `bytes` in pieces and counts the frames, up to the first error.
std::size_t frames_in(const Bytes& bytes, const std::vector<std::size_t>& pieces) {
    FrameReader reader;
    reader.accept_all();
    std::size_t frames = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; at < bytes.size(); ++i) {
        const std::size_t size =
            std::min(pieces.empty() ? bytes.size() : 1 + pieces[i % pieces.size()] % 200, bytes.size() - at);
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), size, reader.prepare(size).begin());
        reader.commit(size);
        at += size;
        while (true) {
            const auto next = reader.next();
            if (!next) return frames;
            if (!next.value()) break;
            ++frames;
        }
    }
    return frames;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(link_property)

BOOST_AUTO_TEST_CASE(any_data_survives_bytes_and_back) {
    BOOST_TEST(rc::check(
        [](std::uint32_t stream, std::uint32_t offset, std::vector<std::uint32_t> tokens, const std::string& bytes) {
            const Data data{offset, std::move(tokens), bytes, static_cast<std::uint16_t>(offset % choices_max)};
            const Bytes frame = encode_data(stream, data);
            RC_ASSERT(frame.size() == frame_header_size + data_payload_size(data));
            RC_ASSERT(decode_data(payload_of(frame), data.choice).value() == data);
        }));
}

BOOST_AUTO_TEST_CASE(any_request_survives_bytes_and_back) {
    BOOST_TEST(rc::check([](const std::string& body, std::vector<std::uint32_t> tokens,
                            std::vector<std::vector<std::uint32_t>> more, std::uint64_t seed, std::int64_t created) {
        Open open;
        // A NUL inside a text does not end it.
        open.body = body;
        open.choices = std::move(more);
        open.choices.insert(open.choices.begin(), std::move(tokens));
        if (open.choices.size() > choices_max) open.choices.resize(choices_max);
        open.seed = seed;
        open.created_unix_s = created;
        RC_ASSERT(decode_open(payload_of(encode_open(1, open).value())).value() == open);
    }));
}

BOOST_AUTO_TEST_CASE(frames_are_the_same_however_the_bytes_are_cut) {
    BOOST_TEST(rc::check([](const std::vector<Bytes>& payloads, const std::vector<std::size_t>& pieces) {
        Bytes bytes;
        for (const Bytes& payload : payloads) {
            const Bytes frame = encode_frame(FrameType::data, 1, payload);
            bytes.insert(bytes.end(), frame.begin(), frame.end());
        }
        RC_ASSERT(frames_in(bytes, pieces) == payloads.size());
    }));
}

BOOST_AUTO_TEST_CASE(any_bytes_are_survived) {
    BOOST_TEST(rc::check([](const Bytes& bytes, const std::vector<std::size_t>& pieces) {
        RC_ASSERT(frames_in(bytes, pieces) <= bytes.size() / frame_header_size);
        static_cast<void>(decode_hello(bytes));
        static_cast<void>(decode_open(bytes));
        static_cast<void>(decode_head(bytes));
        static_cast<void>(decode_end(bytes));
        static_cast<void>(decode_goodbye(bytes));
        if (const auto data = decode_data(bytes)) RC_ASSERT(data_payload_size(data.value()) == bytes.size());
    }));
}

BOOST_AUTO_TEST_SUITE_END()
