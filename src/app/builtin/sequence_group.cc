#include "app/builtin/sequence_group.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/check.h"

namespace exa::app::builtin {

namespace {

using engine::FinishReason;
using engine::TokenEvent;

// Of an answer, where the tenants' shares of a replica are reckoned: most end long before max_tokens.
constexpr std::uint32_t answer_tokens_expected = 256;

}  // namespace

SequenceGroup::SequenceGroup(std::shared_ptr<ReplicaHost> host, std::shared_ptr<shared::Mailbox> mailbox,
                             std::vector<Item> items)
    : host_(std::move(host)), mailbox_(std::move(mailbox)) {
    items_.reserve(items.size());
    for (Item& item : items) {
        State& state = items_.emplace_back();
        state.begun = !item.request;
        state.item = std::move(item);
    }
    skip_idle();
}

Result<void> SequenceGroup::start(Handler handler, const WaitOptions& wait_options, Refused refused) {
    handler_ = std::move(handler);
    refused_ = std::move(refused);
    if (next_ == items_.size()) return success();
    auto permit = host_->take_permit();
    if (!permit && wait_options.wait > Duration::zero()) return wait_for_permit(wait_options);
    if (!permit) return std::move(permit).error();
    EXA_TRY(submit(next_, std::move(permit).value()));
    submit_more();
    return success();
}

Result<void> SequenceGroup::wait_for_permit(const WaitOptions& wait_options) {
    const engine::GenerateRequest& first = *items_[next_].item.request;
    EXA_TRY(host_->check_length(first));
    engine::WaitTerms terms;
    terms.tenant = wait_options.tenant;
    terms.priority = wait_options.priority;
    terms.tokens = static_cast<std::uint32_t>(first.prompt.size()) + std::min(first.max_tokens, answer_tokens_expected);
    EXA_TRY(ticket_,
            host_->wait_for_permit(std::move(terms), wait_options.wait,
                                   [executor = mailbox_->executor(), weak = weak_from_this()](Result<Permit> permit) {
                                       boost::asio::post(executor, [weak, permit = std::move(permit)]() mutable {
                                           if (const auto alive = weak.lock()) alive->take_permit(std::move(permit));
                                       });
                                   }));
    return success();
}

void SequenceGroup::take_permit(Result<Permit> permit) {
    ticket_.reset();
    if (!handler_) return;
    Result<void> begun = success();
    if (permit)
        begun = submit(next_, std::move(permit).value());
    else
        begun = permit.error();
    if (begun) {
        submit_more();
        return;
    }
    next_ = items_.size();
    if (refused_) refused_(begun.error());
}

Result<void> SequenceGroup::submit(std::size_t index, Permit permit) {
    State& state = items_[index];
    // Weak, so that no reply ever ends on the engine's thread.
    auto sink = [mailbox = mailbox_, weak = weak_from_this(), index,
                 first = state.item.request->resumed_tokens](std::vector<TokenEvent> batch) {
        const bool at_once = batch.back().finish || batch.front().offset == first;
        mailbox->send({weak, index, std::move(batch)}, at_once);
    };
    EXA_TRY(state.id, host_->submit(std::move(*state.item.request), std::move(sink), permit));
    ++next_;
    ++running_;
    skip_idle();
    if (next_ < items_.size()) state.permit = std::move(permit);
    return success();
}

void SequenceGroup::submit_more() {
    while (next_ < items_.size() && running_ < running_max) {
        const std::size_t index = next_;
        const std::size_t first_of_prompt = items_[index].item.first_of_prompt;
        if (first_of_prompt != index && !items_[first_of_prompt].begun) break;
        Permit permit;
        if (!free_permits_.empty()) {
            permit = std::move(free_permits_.back());
            free_permits_.pop_back();
        } else if (auto taken = host_->take_permit()) {
            permit = std::move(taken).value();
        } else {
            EXA_CHECK(running_ > 0);
            break;
        }
        if (submit(index, std::move(permit))) continue;
        // The replica stops, and takes none of the others either.
        next_ = items_.size();
        boost::asio::post(mailbox_->executor(), [weak = weak_from_this(), index] {
            const auto alive = weak.lock();
            if (!alive || !alive->handler_) return;
            std::vector<TokenEvent> ended(1);
            ended.front().finish = FinishReason::cancelled;
            ended.front().has_token = false;
            alive->handler_(index, std::move(ended));
        });
    }
    if (next_ == items_.size()) free_permits_.clear();
}

void SequenceGroup::skip_idle() {
    while (next_ < items_.size() && !items_[next_].item.request) ++next_;
}

void SequenceGroup::take(std::size_t index, std::vector<TokenEvent> events) {
    State& state = items_[index];
    state.begun = true;
    if (events.back().finish) {
        state.id.reset();
        --running_;
        if (state.permit) free_permits_.push_back(std::exchange(state.permit, {}));
    }
    submit_more();
    if (handler_) handler_(index, std::move(events));
}

void SequenceGroup::cancel(std::size_t index) {
    if (const auto id = items_[index].id) host_->cancel(*id);
}

void SequenceGroup::cancel() {
    handler_ = nullptr;
    refused_ = nullptr;
    if (const auto ticket = std::exchange(ticket_, std::nullopt)) host_->leave_queue(*ticket);
    next_ = items_.size();
    free_permits_.clear();
    for (std::size_t index = 0; index < items_.size(); ++index) cancel(index);
}

}  // namespace exa::app::builtin
