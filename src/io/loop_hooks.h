// LoopHooks: work for the end of an event-loop iteration, for those who gather what they write.
//
// What is written in one iteration leaves in one go at its end. A loop that knows its iterations says so and calls
// end_iteration(); elsewhere an iteration ends with what is posted.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <vector>

namespace exa::io {

// Belongs to the thread that runs its context.
class LoopHooks final : public boost::asio::execution_context::service {
  public:
    using Work = std::function<void()>;
    static inline boost::asio::execution_context::id id;

    // Those of a context; an executor must be of an io_context.
    static LoopHooks& of(boost::asio::io_context& context);
    static LoopHooks& of(const boost::asio::any_io_executor& executor);
    explicit LoopHooks(boost::asio::execution_context& context);

    // From now on the loop calls end_iteration() when what was ready has run.
    void set_driven_by_loop() { driven_by_loop_ = true; }
    // Runs the work that waits, and what is added meanwhile.
    void end_iteration();

    // Has `work` run once, when this iteration ends.
    void at_end(Work work);

  private:
    void shutdown() override { work_.clear(); }

    boost::asio::io_context& context_;
    bool driven_by_loop_ = false;
    std::vector<Work> work_;
};

}  // namespace exa::io
