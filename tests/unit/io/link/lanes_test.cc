#include "io/link/lanes.h"

#include <boost/test/unit_test.hpp>
#include <memory>

using namespace exa;
using namespace exa::io;
using namespace exa::io::link;

namespace {

Bytes frame(std::uint8_t mark, std::size_t size = 10) {
    return Bytes(size, mark);
}

std::string marks(const std::vector<OutgoingFrame>& batch) {
    std::string text;
    for (const OutgoingFrame& one : batch) text += static_cast<char>(one.frame.front());
    return text;
}

struct Fixture {
    Lanes lanes;
    std::shared_ptr<StreamState> stream = std::make_shared<StreamState>(1);
    std::shared_ptr<StreamState> other = std::make_shared<StreamState>(2);
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(lanes, Fixture)

BOOST_AUTO_TEST_CASE(control_goes_before_bulk_and_each_lane_keeps_its_order) {
    lanes.push_bulk({frame('a')}, stream);
    lanes.push_control(frame('1'));
    lanes.push_bulk({frame('b')}, other);
    lanes.push_control(frame('2'));
    lanes.set_pong(frame('p'));
    BOOST_TEST(marks(lanes.take_batch()) == "p12ab");
    BOOST_TEST(lanes.empty());
    BOOST_TEST(lanes.take_batch().empty());
}

BOOST_AUTO_TEST_CASE(newest_pong_replaces_the_one_that_waits) {
    lanes.set_pong(frame('p'));
    lanes.set_pong(frame('q'));
    BOOST_TEST(marks(lanes.take_batch()) == "q");
}

BOOST_AUTO_TEST_CASE(bytes_are_counted_until_they_leave) {
    lanes.push_control(frame('1', 7));
    const Bytes rest(100);
    lanes.push_bulk({frame('a', 12), rest}, stream);
    BOOST_TEST(lanes.control_bytes() == 7U);
    BOOST_TEST(lanes.bulk_bytes() == 112U);
    BOOST_TEST(stream->queued_frames == 1U);
    lanes.take_batch();
    BOOST_TEST(lanes.control_bytes() == 0U);
    BOOST_TEST(lanes.bulk_bytes() == 0U);
    BOOST_TEST(stream->queued_frames == 0U);
    BOOST_TEST(stream->began);
}

BOOST_AUTO_TEST_CASE(frames_of_a_cancelled_stream_are_dropped) {
    lanes.push_bulk({frame('a')}, stream);
    lanes.push_bulk({frame('b')}, other);
    stream->cancelled = true;
    BOOST_TEST(marks(lanes.take_batch()) == "b");
    BOOST_TEST(!stream->began);
    BOOST_TEST(stream->queued_frames == 0U);
}

BOOST_AUTO_TEST_CASE(batch_is_bounded_in_bytes_and_in_frames) {
    for (int i = 0; i < 10; ++i) lanes.push_bulk({frame('a', 200'000)}, stream);
    BOOST_TEST(lanes.take_batch().size() == 3U);
    lanes.clear();
    BOOST_TEST(lanes.bulk_bytes() == 0U);
    for (int i = 0; i < 100; ++i) lanes.push_control(frame('1'));
    BOOST_TEST(lanes.take_batch().size() == 64U);
    BOOST_TEST(lanes.take_batch().size() == 36U);
}

BOOST_AUTO_TEST_SUITE_END()
