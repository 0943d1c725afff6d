// Progress: one line on standard error that rewrites itself on a terminal, and a line for each change elsewhere.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>

namespace exa::cli {

class Progress {
  public:
    bool is_terminal() const { return tty_; }

    void show(const std::string& text) {
        if (text == last_) return;
        last_ = text;
        std::fprintf(stderr, tty_ ? "\r\x1b[K%s" : "%s\n", text.c_str());
        std::fflush(stderr);
    }
    void end() {
        if (tty_ && !last_.empty()) std::fputs("\r\x1b[K", stderr);
        last_.clear();
    }

  private:
    bool tty_ = isatty(STDERR_FILENO) == 1;
    std::string last_;
};

}  // namespace exa::cli
