// StopSwitch: turns a signal, an operator's order or a refusal into the reason to stop, on the main thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <string>
#include <thread>

#include "base/result.h"

namespace exa::app {

// One a process: SIGTERM and SIGINT are its.
class StopSwitch {
  public:
    StopSwitch();

    // Thread-safe, both.
    void leave() { context_.stop(); }
    void refuse(std::string why);

    // Calls `work` within wait(), every ten seconds and for each SIGHUP, which without this ends the process.
    void keep_up(std::function<void(bool hangup)> work);

    // Blocks until one of the above. A signal that comes more than a second later ends the process at once.
    // errc::refused: why the cluster did not take this peer.
    Result<void> wait();

  private:
    void await_hangup();
    void await_time();

    boost::asio::io_context context_{1};
    boost::asio::signal_set signals_;
    boost::asio::signal_set hangups_;
    boost::asio::steady_timer timer_;
    std::function<void(bool)> work_;
    std::string refusal_;
    std::jthread rearm_;
};

}  // namespace exa::app
