// ShutdownSignal: turns a signal, an operator's request or a refusal into the reason to stop, on the main thread, which
// also does a peer's maintenance meanwhile.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <string>
#include <thread>

#include "base/result.h"

namespace exa::app {

// The first act of a process that is to be a peer: a SIGHUP that comes before its ShutdownSignal waits for that.
void hold_hangups();

// One a process: SIGHUP is its own from the start, SIGTERM and SIGINT from listen() on.
class ShutdownSignal {
  public:
    ShutdownSignal();

    // SIGTERM and SIGINT no longer end the process at once; wait() returns instead.
    void listen();

    // Thread-safe, both.
    void leave() { context_.stop(); }
    void refuse(std::string why);

    // Calls `work` within wait(), every ten seconds and for SIGHUP, also for one that came before.
    void maintain(std::function<void(bool hangup)> work);

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
