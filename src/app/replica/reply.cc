#include "app/replica/reply.h"

#include <cstddef>
#include <utility>

#include "io/errc.h"

namespace exa::app::replica {

namespace {

class LinkReply final : public ReplyReader {
  public:
    explicit LinkReply(std::shared_ptr<io::link::OutboundStream> stream) : stream_(std::move(stream)) {}

    std::optional<Result<ReplyPart>> poll() override {
        auto frame = stream_->poll();
        if (!frame) return std::nullopt;
        if (!*frame) return Result<ReplyPart>(frame->error());
        return std::visit([](auto&& part) { return Result<ReplyPart>(std::forward<decltype(part)>(part)); },
                          std::move(*frame).value());
    }
    void on_ready(std::function<void()> handler) override { stream_->on_ready(std::move(handler)); }
    void cancel() override { stream_->cancel(); }

  private:
    std::shared_ptr<io::link::OutboundStream> stream_;
};

class KnownReply final : public ReplyReader {
  public:
    explicit KnownReply(std::vector<ReplyPart> parts) : parts_(std::move(parts)) {}

    std::optional<Result<ReplyPart>> poll() override {
        if (cancelled_) return Result<ReplyPart>(error(io::errc::cancelled));
        if (next_ == parts_.size()) return Result<ReplyPart>(error(io::errc::closed, "the reply has ended"));
        return Result<ReplyPart>(std::move(parts_[next_++]));
    }
    // Nobody ever waits.
    void on_ready(std::function<void()>) override {}
    void cancel() override { cancelled_ = true; }

  private:
    std::vector<ReplyPart> parts_;
    std::size_t next_ = 0;
    bool cancelled_ = false;
};

}  // namespace

std::shared_ptr<ReplyReader> reply_of(std::shared_ptr<io::link::OutboundStream> stream) {
    return std::make_shared<LinkReply>(std::move(stream));
}

std::shared_ptr<ReplyReader> reply_of(std::vector<ReplyPart> parts) {
    return std::make_shared<KnownReply>(std::move(parts));
}

}  // namespace exa::app::replica
