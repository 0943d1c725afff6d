// Turns: begin and end of the turns of an io_context's loop, for those who gather work.
//
// What is written in one turn should leave in one go at its end, and what came should be looked for once. A loop that
// has turns says so, and calls begin() and end(); elsewhere the end of a turn is what is posted, and its begin is now.
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

    // From now on the loop calls begin() before it looks for what is ready, and end() when that has run.
    void take_charge() { has_owner_ = true; }
    void begin() { run(at_begin_); }
    // Also runs what is added meanwhile.
    void end() { run(at_end_); }

    // Has `work` run once, when the next turn begins.
    void at_begin(Work work);
    // Has `work` run once, when this turn ends.
    void at_end(Work work);

  private:
    void shutdown() override;
    static void run(std::vector<Work>& list);

    boost::asio::io_context& context_;
    bool has_owner_ = false;
    std::vector<Work> at_begin_;
    std::vector<Work> at_end_;
};

}  // namespace exa::io
