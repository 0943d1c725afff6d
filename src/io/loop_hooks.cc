#include "io/loop_hooks.h"

#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>
#include <cstddef>
#include <utility>

namespace exa::io {

namespace asio = boost::asio;

LoopHooks& LoopHooks::of(asio::io_context& context) {
    return asio::use_service<LoopHooks>(context);
}

LoopHooks& LoopHooks::of(const asio::any_io_executor& executor) {
    return of(static_cast<asio::io_context&>(asio::query(executor, asio::execution::context)));
}

LoopHooks::LoopHooks(asio::execution_context& context)
    : service(context), context_(static_cast<asio::io_context&>(context)) {}

void LoopHooks::at_end(Work work) {
    if (driven_by_loop_)
        work_.push_back(std::move(work));
    else
        asio::post(context_, std::move(work));
}

void LoopHooks::end_iteration() {
    // By index: work may add to it.
    for (std::size_t i = 0; i < work_.size(); ++i) std::exchange(work_[i], nullptr)();
    work_.clear();
}

}  // namespace exa::io
