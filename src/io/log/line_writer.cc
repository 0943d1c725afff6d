#include "io/log/line_writer.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "io/errc.h"

namespace exa::io::log {

namespace {

// A pipe takes this much as one piece (POSIX: PIPE_BUF is at least 512, on Linux 4,096): lines of several writers of
// one pipe do not mix.
constexpr std::size_t piece_bytes = 4096;
// Memory that a storm has left is given back.
constexpr std::size_t kept_bytes = 64 * 1024;

Result<int> open_target(const std::string& path) {
    int descriptor = -1;
    if (path.empty()) {
        descriptor = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
        // A process without a standard error serves all the same.
        if (descriptor < 0 && errno == EBADF) descriptor = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    } else {
        // Whom clients are and what they ask for is nobody else's business. A FIFO without a reader is an error, and
        // not a wait.
        descriptor = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0640);
        if (descriptor >= 0) ::fcntl(descriptor, F_SETFL, O_APPEND);
    }
    if (descriptor < 0) return error(errc::system, path + ": " + std::strerror(errno));
    return descriptor;
}

// Waits for the reader. False when a part of it is lost.
bool write_all(int descriptor, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0 && errno == EAGAIN) {
            // Somebody who shares it has made it non-blocking.
            pollfd ready{descriptor, POLLOUT, 0};
            ::poll(&ready, 1, -1);
            continue;
        }
        if (written <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

// As many whole lines from the front as fit into one piece, and one at least.
std::string_view first_piece(std::string_view lines) {
    const auto end = lines.substr(0, piece_bytes).rfind('\n');
    return lines.substr(0, end == lines.npos ? lines.find('\n') + 1 : end + 1);
}

}  // namespace

std::string dropped_text(std::uint64_t count) {
    std::string digits = std::to_string(count);
    for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
    return digits + (count == 1 ? " line dropped" : " lines dropped");
}

// Shared with the thread, which may outlive the LineWriter.
struct LineWriter::State {
    State(std::string file, LineWriterOptions settings, int target)
        : path(std::move(file)), options(std::move(settings)), descriptor(target) {}
    ~State() { ::close(descriptor); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    void run();
    void open_again(std::unique_lock<std::mutex>& lock);
    std::uint64_t write_lines(std::string_view lines) const;

    const std::string path;
    const LineWriterOptions options;
    std::mutex mutex;
    std::condition_variable changed;
    std::string waiting;
    std::uint64_t gap = 0;  // lines dropped since the last that waits
    std::uint64_t dropped = 0;
    bool reopen_due = false;
    bool stopping = false;
    bool done = false;
    std::optional<Error> failure;
    int descriptor;  // the thread's
};

void LineWriter::State::run() {
    std::string lines;
    std::uint64_t lost = 0;
    std::unique_lock lock(mutex);
    while (true) {
        changed.wait(lock, [&] { return stopping || reopen_due || !waiting.empty(); });
        if (std::exchange(reopen_due, false)) open_again(lock);
        if (waiting.empty()) {
            if (stopping) break;
            continue;
        }
        lines.swap(waiting);
        const std::uint64_t missing = std::exchange(gap, 0);
        lock.unlock();
        if (options.dropped_notice) {
            if (lost > 0) lines.insert(0, options.dropped_notice(lost) + "\n");
            if (missing > 0) lines += options.dropped_notice(missing) + "\n";
        }
        lost = write_lines(lines);
        lines.clear();
        if (lines.capacity() > kept_bytes) lines.shrink_to_fit();
        lock.lock();
        dropped += lost;
    }
    done = true;
    changed.notify_all();
}

void LineWriter::State::open_again(std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    auto opened = open_target(path);
    lock.lock();
    if (!opened) {
        failure = opened.error();
        return;
    }
    ::close(std::exchange(descriptor, opened.value()));
}

// How many are lost.
std::uint64_t LineWriter::State::write_lines(std::string_view lines) const {
    std::uint64_t lost = 0;
    while (!lines.empty()) {
        const std::string_view piece = first_piece(lines);
        if (!write_all(descriptor, piece)) lost += static_cast<std::uint64_t>(std::ranges::count(piece, '\n'));
        lines.remove_prefix(piece.size());
    }
    return lost;
}

Result<std::unique_ptr<LineWriter>> LineWriter::open(std::string path, LineWriterOptions options) {
    EXA_TRY(const int descriptor, open_target(path));
    auto state = std::make_shared<State>(std::move(path), std::move(options), descriptor);
    try {
        std::thread([state] { state->run(); }).detach();
    } catch (const std::system_error& refused) {
        return error(errc::system, std::string("a thread for the log: ") + refused.what());
    }
    return std::unique_ptr<LineWriter>(new LineWriter(std::move(state)));
}

LineWriter::LineWriter(std::shared_ptr<State> state) : state_(std::move(state)) {}

LineWriter::~LineWriter() {
    std::unique_lock lock(state_->mutex);
    state_->stopping = true;
    state_->changed.notify_all();
    state_->changed.wait_for(lock, state_->options.end_timeout, [&] { return state_->done; });
}

void LineWriter::write(std::string_view line) {
    const std::lock_guard lock(state_->mutex);
    std::string& waiting = state_->waiting;
    // Once lines are missing nothing stands after them until the thread has said so.
    const bool after_gap = state_->gap > 0 && !waiting.empty();
    if (after_gap || waiting.size() + line.size() + 1 > state_->options.waiting_bytes_max) {
        ++state_->gap;
        ++state_->dropped;
        return;
    }
    const bool was_empty = waiting.empty();
    waiting.append(line).push_back('\n');
    if (was_empty) state_->changed.notify_all();
}

void LineWriter::reopen() {
    const std::lock_guard lock(state_->mutex);
    state_->reopen_due = true;
    state_->changed.notify_all();
}

std::optional<Error> LineWriter::take_failure() {
    const std::lock_guard lock(state_->mutex);
    return std::exchange(state_->failure, std::nullopt);
}

std::uint64_t LineWriter::dropped() const {
    const std::lock_guard lock(state_->mutex);
    return state_->dropped;
}

}  // namespace exa::io::log
