#include "app/kv/reply.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <optional>
#include <utility>
#include <variant>

#include "io/errc.h"

namespace exa::app::kv {

namespace {

namespace asio = boost::asio;
using node::KvAnswer;

// Of one piece of a segment, which is one frame: long enough that the kernel is not asked often, short enough that
// streams take turns on the link, and that a tenth of a millisecond or two is all others of the thread wait.
constexpr std::size_t piece_bytes = 512 * 1024;

class KvReply final : public replica::ReplyReader, public std::enable_shared_from_this<KvReply> {
  public:
    KvReply(std::string_view question, PeerId from, KvService& service, std::shared_ptr<KvOffers> offers,
            asio::any_io_executor executor)
        : answer_(question),
          from_(from),
          service_(service),
          offers_(std::move(offers)),
          executor_(std::move(executor)) {}
    ~KvReply() override { KvReply::cancel(); }

    void work() {
        while (auto work = answer_.poll_work())
            std::visit([this](auto&& one) { carry_out(std::forward<decltype(one)>(one)); }, std::move(*work));
    }

    std::optional<Result<replica::ReplyPart>> poll() override {
        if (is_cancelled_) return Result<replica::ReplyPart>(error(io::errc::cancelled));
        if (is_over_) return Result<replica::ReplyPart>(error(io::errc::closed, "the reply has ended"));
        if (current_) return Result<replica::ReplyPart>(next_piece());
        auto part = answer_.poll_part();
        if (!part) return std::nullopt;
        work();
        return Result<replica::ReplyPart>(
            std::visit([this](auto&& one) { return render(std::forward<decltype(one)>(one)); }, std::move(*part)));
    }
    void on_ready(std::function<void()> handler) override { on_ready_ = std::move(handler); }
    void cancel() override {
        is_cancelled_ = true;
        answer_.cancel();
        work();
    }

  private:
    void carry_out(const KvAnswer::Lookup& lookup) { answer_.handle_items(service_.look(lookup.keys)); }

    // What is in memory is there at once; anything else comes from a thread of the service.
    void carry_out(const KvAnswer::Read& read) {
        if (auto segment = service_.find_in_memory(read.key)) return answer_.handle_read(std::move(segment));
        service_.fetch(read.key, [weak = weak_from_this(), executor = executor_](exa::kv::SealedSegment segment) {
            asio::post(executor, [weak, segment = std::move(segment)]() mutable {
                if (const auto reply = weak.lock())
                    reply->take([&] { reply->answer_.handle_read(std::move(segment)); });
            });
        });
    }

    void carry_out(KvAnswer::Offer offer) {
        if (offer.latest_stamp != 0) service_.observe(offer.latest_stamp);
        const auto done = [weak = weak_from_this(), executor = executor_](std::string body) {
            asio::post(executor, [weak, body = std::move(body)]() mutable {
                if (const auto reply = weak.lock())
                    reply->take([&] { reply->answer_.handle_outcomes(std::move(body)); });
            });
        };
        offer_ = offers_->begin(from_, std::move(offer.question), done);
    }

    void carry_out(const KvAnswer::Forget&) { offers_->forget(*offer_); }

    template <class Handle>
    void take(const Handle& handle) {
        handle();
        work();
        if (on_ready_) on_ready_();
    }

    replica::ReplyPart render(KvAnswer::Body body) { return wire::Data{0, {}, std::move(body.bytes)}; }

    replica::ReplyPart render(KvAnswer::Segment part) {
        current_ = std::move(part.segment);
        at_ = 0;
        return wire::Data{0, {}, exa::kv::segment_prefix(current_ ? current_->size() : 0)};
    }

    replica::ReplyPart render(KvAnswer::End end) {
        is_over_ = true;
        if (end.failure.empty()) return wire::End{};
        return wire::End{wire::EndCode::failed, std::move(end.failure)};
    }

    replica::SharedBytes next_piece() {
        const std::size_t count = std::min(piece_bytes, current_->size() - at_);
        replica::SharedBytes piece{current_->view().subspan(at_, count), current_};
        at_ += count;
        if (at_ == current_->size()) current_ = nullptr;
        return piece;
    }

    KvAnswer answer_;
    const PeerId from_;
    KvService& service_;
    const std::shared_ptr<KvOffers> offers_;
    const asio::any_io_executor executor_;
    std::function<void()> on_ready_;
    std::optional<exa::kv::OfferId> offer_;
    exa::kv::SealedSegment current_;  // that is being sent
    std::size_t at_ = 0;              // of it
    bool is_cancelled_ = false;
    bool is_over_ = false;
};

}  // namespace

std::shared_ptr<replica::ReplyReader> answer_kv(std::string_view question, PeerId from, KvService& service,
                                                std::shared_ptr<KvOffers> offers,
                                                const asio::any_io_executor& executor) {
    auto reply = std::make_shared<KvReply>(question, from, service, std::move(offers), executor);
    reply->work();
    return reply;
}

}  // namespace exa::app::kv
