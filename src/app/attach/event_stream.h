// EventStream: whether a stream of server-sent events has come to its own end, and not only to that of its connection.
//
// An answer that a server breaks off, because it crashed or somebody restarted it, may end as cleanly as a whole one:
// its chunks are closed, or the connection is. Only the last event tells: [DONE] of chats and completions, the event
// that completes or fails a response, or an error.
#pragma once

#include <string>
#include <string_view>

namespace exa::app::attach {

class EventStream {
  public:
    // The next bytes, cut anywhere.
    void feed(std::string_view bytes);
    // An event that is an end has come, and nothing is left of one that was begun after it.
    bool has_ended() const { return was_end_ && !is_inside_ && !is_cut_; }

  private:
    void end_line();

    std::string line_;        // its beginning, as far as anybody looks
    bool has_line_ = false;   // a byte of the line has come
    bool is_cut_ = false;     // the bytes so far end within a line
    bool is_inside_ = false;  // of an event
    bool is_end_ = false;     // the event that is under way
    bool was_end_ = false;    // the last whole one
};

}  // namespace exa::app::attach
