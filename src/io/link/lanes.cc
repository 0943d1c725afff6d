#include "io/link/lanes.h"

#include <algorithm>
#include <utility>

#include "wire/traffic_class.h"

namespace exa::io::link {

namespace {

// One system call carries at most this plus its last frame; the rest waits for the next, so that a control frame never
// waits long.
constexpr std::size_t batch_bytes_max = 512 * 1024;
constexpr std::size_t batch_frames_max = 64;
// The order of take_batch().
static_assert(wire::overtakes(wire::TrafficClass::control, wire::TrafficClass::data));

}  // namespace

void Lanes::push_control(Bytes frame) {
    control_bytes_ += frame.size();
    control_.push(std::move(frame));
}

void Lanes::push_bulk(OutgoingFrame frame, const std::shared_ptr<StreamState>& stream) {
    bulk_bytes_ += frame.size();
    ++stream->queued_frames;
    bulk_.push({std::move(frame), stream});
}

std::vector<OutgoingFrame> Lanes::take_batch() {
    std::vector<OutgoingFrame> batch;
    batch.reserve(std::min(batch_frames_max, 1 + control_.size() + bulk_.size()));
    std::size_t bytes = 0;
    auto full = [&] { return batch.size() >= batch_frames_max || bytes >= batch_bytes_max; };
    auto take = [&](OutgoingFrame&& frame) {
        bytes += frame.size();
        batch.push_back(std::move(frame));
    };
    if (pong_) take({std::move(*std::exchange(pong_, std::nullopt))});
    while (!control_.empty() && !full()) {
        control_bytes_ -= control_.front().size();
        take({control_.pop()});
    }
    while (!bulk_.empty() && !full()) {
        Queued queued = bulk_.pop();
        bulk_bytes_ -= queued.frame.size();
        --queued.stream->queued_frames;
        if (queued.stream->cancelled) continue;
        queued.stream->began = true;
        take(std::move(queued.frame));
    }
    return batch;
}

void Lanes::clear() {
    control_.clear();
    bulk_.clear();
    pong_.reset();
    control_bytes_ = bulk_bytes_ = 0;
}

}  // namespace exa::io::link
