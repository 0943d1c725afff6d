#include "app/shutdown_signal.h"

#include <boost/asio/post.hpp>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <utility>

#include "app/shared/errc.h"

namespace exa::app {

namespace {

// Signals that repeat the first one this soon are one request: some supervisors send it to the process and to its
// group.
constexpr std::chrono::seconds signal_repeat{1};
// How often files that may have been replaced are looked at.
constexpr std::chrono::seconds look_again{10};

// Of this thread and those that it starts.
void mask_hangups(int how) {
    sigset_t hangups;
    sigemptyset(&hangups);
    sigaddset(&hangups, SIGHUP);
    ::pthread_sigmask(how, &hangups, nullptr);
}

}  // namespace

void hold_hangups() {
    mask_hangups(SIG_BLOCK);
}

ShutdownSignal::ShutdownSignal() : signals_(context_), hangups_(context_, SIGHUP), timer_(context_) {
    mask_hangups(SIG_UNBLOCK);
}

void ShutdownSignal::listen() {
    signals_.add(SIGTERM);
    signals_.add(SIGINT);
    signals_.async_wait([this](const boost::system::error_code& cancelled, int) {
        if (!cancelled) context_.stop();
    });
}

void ShutdownSignal::refuse(std::string why) {
    boost::asio::post(context_, [this, why = std::move(why)] {
        refusal_ = why;
        context_.stop();
    });
}

void ShutdownSignal::maintain(std::function<void(bool hangup)> work) {
    work_ = std::move(work);
    await_hangup();
    await_time();
}

Result<void> ShutdownSignal::wait() {
    context_.run();
    signals_.clear();
    std::signal(SIGTERM, SIG_IGN);
    std::signal(SIGINT, SIG_IGN);
    rearm_ = std::jthread([](const std::stop_token& stopping) {
        std::mutex mutex;
        std::condition_variable_any stopped;
        std::unique_lock lock(mutex);
        if (stopped.wait_for(lock, stopping, signal_repeat, [&] { return stopping.stop_requested(); })) return;
        std::signal(SIGTERM, SIG_DFL);
        std::signal(SIGINT, SIG_DFL);
    });
    if (!refusal_.empty()) return error(shared::errc::refused, refusal_);
    return success();
}

void ShutdownSignal::await_hangup() {
    hangups_.async_wait([this](const boost::system::error_code& cancelled, int) {
        if (cancelled) return;
        work_(true);
        await_hangup();
    });
}

void ShutdownSignal::await_time() {
    timer_.expires_after(look_again);
    timer_.async_wait([this](const boost::system::error_code& cancelled) {
        if (cancelled) return;
        work_(false);
        await_time();
    });
}

}  // namespace exa::app
