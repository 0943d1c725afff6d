#include "app/kv/answers.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <deque>
#include <string>
#include <utility>

#include "io/errc.h"

namespace exa::app {

namespace {

namespace asio = boost::asio;

// Of one piece of a segment, which is one frame: long enough that the kernel is not asked often, short enough that
// streams take turns on the link, and that a tenth of a millisecond or two is all others of the thread wait.
constexpr std::size_t piece_bytes = 512 * 1024;
// Segments read ahead of the one that is being sent.
constexpr std::size_t read_ahead = 2;

class FetchReply final : public ReplyReader, public std::enable_shared_from_this<FetchReply> {
  public:
    FetchReply(KvService& service, std::vector<kv::Item> items, const asio::any_io_executor& executor)
        : service_(service), items_(std::move(items)), executor_(executor) {}

    std::optional<Result<ReplyPart>> poll() override {
        if (cancelled_) return Result<ReplyPart>(error(io::errc::cancelled));
        if (over_) return Result<ReplyPart>(error(io::errc::closed, "the reply has ended"));
        if (current_) return Result<ReplyPart>(next_piece());
        if (sent_ == items_.size()) {
            over_ = true;
            return Result<ReplyPart>(wire::End{});
        }
        read();
        if (ready_.empty()) return std::nullopt;
        current_ = std::move(ready_.front());
        ready_.pop_front();
        ++sent_;
        const std::size_t size = current_ ? current_->size() : 0;
        at_ = 0;
        return Result<ReplyPart>(wire::Data{0, {}, kv::segment_prefix(size)});
    }
    void on_ready(std::function<void()> handler) override { on_ready_ = std::move(handler); }
    void cancel() override { cancelled_ = true; }

  private:
    SharedBytes next_piece() {
        const std::size_t count = std::min(piece_bytes, current_->size() - at_);
        SharedBytes piece{current_->view().subspan(at_, count), current_};
        at_ += count;
        if (at_ == current_->size()) current_ = nullptr;
        return piece;
    }

    // What is in memory is there at once; anything else comes from a thread of the service.
    void read() {
        while (!is_reading_ && asked_ < items_.size() && ready_.size() < read_ahead) {
            const kv::SegmentKey& key = items_[asked_++].key;
            if (auto segment = service_.find_in_memory(key)) {
                ready_.push_back(std::move(segment));
                continue;
            }
            const auto tell = [self = weak_from_this(), executor = executor_](kv::SealedSegment segment) {
                asio::post(executor, [self, segment = std::move(segment)]() mutable {
                    if (const auto reply = self.lock()) reply->take(std::move(segment));
                });
            };
            is_reading_ = true;
            service_.fetch(key, tell);
        }
    }

    void take(kv::SealedSegment segment) {
        is_reading_ = false;
        ready_.push_back(std::move(segment));
        if (!cancelled_) read();
        if (on_ready_) on_ready_();
    }

    KvService& service_;
    const std::vector<kv::Item> items_;
    const asio::any_io_executor executor_;
    std::function<void()> on_ready_;
    std::deque<kv::SealedSegment> ready_;  // null: it is not here
    kv::SealedSegment current_;
    std::size_t at_ = 0;     // of `current_`
    std::size_t asked_ = 0;  // items
    std::size_t sent_ = 0;   // items, `current_` included
    bool is_reading_ = false;
    bool cancelled_ = false;
    bool over_ = false;
};

class OfferReply final : public ReplyReader, public std::enable_shared_from_this<OfferReply> {
  public:
    explicit OfferReply(std::function<void()> forget) : forget_(std::move(forget)) {}
    ~OfferReply() override { OfferReply::cancel(); }

    std::optional<Result<ReplyPart>> poll() override {
        if (parts_.empty()) {
            if (cancelled_) return Result<ReplyPart>(error(io::errc::cancelled));
            return std::nullopt;
        }
        if (next_ == parts_.size()) return Result<ReplyPart>(error(io::errc::closed, "the reply has ended"));
        return Result<ReplyPart>(std::move(parts_[next_++]));
    }
    void on_ready(std::function<void()> handler) override { on_ready_ = std::move(handler); }
    void cancel() override {
        if (std::exchange(cancelled_, true) || !parts_.empty()) return;
        forget_();
    }

    void take(std::span<const kv::OfferOutcome> outcomes) {
        parts_ = {wire::Data{0, {}, kv::encode(outcomes)}, wire::End{}};
        if (on_ready_) on_ready_();
    }

  private:
    std::function<void()> forget_;
    std::function<void()> on_ready_;
    std::vector<ReplyPart> parts_;
    std::size_t next_ = 0;
    bool cancelled_ = false;
};

}  // namespace

std::shared_ptr<ReplyReader> answer_look(KvService& service, const kv::Question& question) {
    std::vector<kv::SegmentKey> keys;
    keys.reserve(question.items.size());
    for (const kv::Item& item : question.items) keys.push_back(item.key);
    return reply_of({wire::Data{0, {}, kv::encode(std::span<const kv::Item>(service.look(keys)))}, wire::End{}});
}

std::shared_ptr<ReplyReader> answer_fetch(KvService& service, kv::Question question,
                                          const asio::any_io_executor& executor) {
    return std::make_shared<FetchReply>(service, std::move(question.items), executor);
}

std::shared_ptr<ReplyReader> answer_offer(const asio::any_io_executor& executor,
                                          const std::function<void(OutcomesSink)>& begin,
                                          std::function<void()> forget) {
    const auto reply = std::make_shared<OfferReply>(std::move(forget));
    begin([weak = std::weak_ptr(reply), executor](std::vector<kv::OfferOutcome> outcomes) {
        asio::post(executor, [weak, outcomes = std::move(outcomes)] {
            if (const auto waiting = weak.lock()) waiting->take(outcomes);
        });
    });
    return reply;
}

}  // namespace exa::app
