// Turns: the ends of the turns of an io_context's loop, for those who gather what they write.
//
// What is written in one turn leaves in one go at its end. A loop that has turns says so and calls end(); elsewhere a
// turn ends with what is posted.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <vector>

namespace exa::io {

// Belongs to the thread that runs its context.
class Turns final : public boost::asio::execution_context::service {
  public:
    using Work = std::function<void()>;
    static inline boost::asio::execution_context::id id;

    // Those of a context; an executor must be of an io_context.
    static Turns& of(boost::asio::io_context& context);
    static Turns& of(const boost::asio::any_io_executor& executor);
    explicit Turns(boost::asio::execution_context& context);

    // From now on the loop calls end() when what was ready has run.
    void take_charge() { has_owner_ = true; }
    // Runs what waits for it, and what is added meanwhile.
    void end();

    // Has `work` run once, when this turn ends.
    void at_end(Work work);

  private:
    void shutdown() override { work_.clear(); }

    boost::asio::io_context& context_;
    bool has_owner_ = false;
    std::vector<Work> work_;
};

}  // namespace exa::io
