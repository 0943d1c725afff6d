// LineWriter: lines to a file or to standard error from a thread of its own.
//
// Whoever writes a line waits for nobody: lines wait in memory within a bound, and what does not fit is dropped and
// counted. A reader that stands still, a full pipe or a file system that hangs stops this thread alone.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace exa::io::log {

struct LineWriterOptions {
    // Bytes of lines that may wait; as many again are being written. Default 4 MiB.
    std::size_t waiting_bytes_max = 4 * 1024 * 1024;
    // The line, without its end, that stands where `count` lines are missing; null: none. Called on the writer's
    // thread, possibly after the LineWriter is gone: it refers to nothing that ends.
    std::function<std::string(std::uint64_t count)> dropped_notice;
    // How long the destructor waits for lines to be written. Default 1 s.
    Duration end_timeout = std::chrono::seconds(1);
};

class LineWriter {
  public:
    // Appends to the file `path`; writes to standard error when it is empty. errc::system names the file.
    static Result<std::unique_ptr<LineWriter>> open(std::string path, LineWriterOptions options);
    // Waits for what has been written so far, at most end_timeout; then the thread is left alone with the rest.
    ~LineWriter();
    LineWriter(const LineWriter&) = delete;
    LineWriter& operator=(const LineWriter&) = delete;

    // Thread-safe, as all below, and none of them waits. `line` has no end of its own.
    void write(std::string_view line);
    // Opens the file by its name again, as is due when it has been renamed. Lines from now on go there; if it cannot be
    // opened, they go on to the old one: see take_failure().
    void reopen();
    // Why the last reopen() failed, once.
    std::optional<Error> take_failure();
    // Lines that nobody will read.
    std::uint64_t dropped() const;

  private:
    struct State;

    explicit LineWriter(std::shared_ptr<State> state);

    const std::shared_ptr<State> state_;
};

// "1,234 lines dropped", "1 line dropped".
std::string dropped_text(std::uint64_t count);

}  // namespace exa::io::log
