// AttachReply: the answer of an attached server on its way to the reader of one reply.
//
// Its bytes are passed on as they come. Of a stream only whole events are, so that what follows one that breaks in the
// middle is not taken for a part of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "app/attach/event_stream.h"
#include "app/attach/failure_reporter.h"
#include "app/replica/backend.h"
#include "app/replica/reply.h"
#include "io/http/upstream.h"

namespace exa::app::attach {

// A request that counts against a replica's limit, for as long as this lives.
class AttachPermit {
  public:
    explicit AttachPermit(std::shared_ptr<std::atomic<std::uint32_t>> in_flight) : in_flight_(std::move(in_flight)) {}
    AttachPermit(AttachPermit&&) = default;
    AttachPermit& operator=(AttachPermit&&) = delete;
    ~AttachPermit() {
        if (in_flight_) in_flight_->fetch_sub(1);
    }

    std::uint32_t in_flight() const { return in_flight_->load(); }

  private:
    std::shared_ptr<std::atomic<std::uint32_t>> in_flight_;
};

class AttachReply final : public replica::ReplyReader, private io::http::UpstreamSink {
  public:
    AttachReply(std::shared_ptr<io::http::UpstreamPool> pool, ReplicaId replica, AttachPermit permit,
                std::shared_ptr<replica::ReceiverStats> stats, std::shared_ptr<FailureReporter> failures);

    // Once, before anything is read.
    void start(std::string head, std::string body) { call_.send(std::move(head), std::move(body)); }

    std::optional<Result<replica::ReplyPart>> poll() override;
    void on_ready(std::function<void()> handler) override { on_ready_ = std::move(handler); }
    void cancel() override;

  private:
    void on_head(const io::http::ResponseHead& head) override;
    bool on_body(std::string_view piece) override;
    void on_end(Result<void> end) override;

    std::string take_body();
    wire::End end_of(const Result<void>& end) const;
    void report(const Result<void>& end) const;
    // However cleanly it ended.
    bool is_broken_stream() const { return is_stream_ && !events_.has_ended(); }
    void wake();

    const ReplicaId replica_;
    std::optional<AttachPermit> permit_;  // until the answer has come
    const std::shared_ptr<replica::ReceiverStats> stats_;
    const std::shared_ptr<FailureReporter> failures_;
    std::function<void()> on_ready_;

    // Came and was not read, in this order.
    std::optional<wire::Head> head_;
    std::string body_;
    std::optional<wire::End> end_;

    const FailureReporter::Clock::time_point began_ = FailureReporter::Clock::now();
    int status_ = 0;           // 0: no head yet
    bool refused_ = false;     // by a status that sends the request elsewhere
    bool is_stream_ = false;   // of events
    EventStream events_;       // of such a stream
    std::string refusal_;      // the first bytes of such an answer, for people
    Duration retry_after_{0};  // as the server said
    bool paused_ = false;
    bool cancelled_ = false;
    bool ended_ = false;

    io::http::UpstreamCall call_;  // last: it ends before what it reports to
};

// Bytes at the front of `text` that are whole server-sent events (HTML standard, section 9.2: lines end with LF or CR
// LF, an empty one ends the event).
std::size_t whole_events(std::string_view text);

}  // namespace exa::app::attach
