// AnswerText: token bytes in, text that may be shown out.
//
// Tokens split anywhere: inside a code point, inside a stop string. So bytes wait here until nothing that may still
// come can change them:
//   bytes -> valid UTF-8 (an ill-formed maximal subpart becomes one U+FFFD: Unicode 15, section 3.9, "U+FFFD
//   substitution") -> cut at the stop string that completes first -> released.
// What is released depends on the concatenated bytes alone, never on where tokens split them. That is what lets another
// replica rebuild the state from the tokens already sent and go on without a seam.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace exa::openai {

class AnswerText {
  public:
    // No stop string may be empty.
    explicit AnswerText(std::vector<std::string> stops = {});

    // A stop string was found: the answer ends here, later bytes are dropped.
    bool stopped() const { return stopped_; }

    // Returns the text that became final; whole code points, possibly none. Unless it `may_stop`, no stop string is
    // looked for in it or across its end.
    std::string push(std::string_view bytes, bool may_stop = true);

    // The answer ended without a stop string: releases what waited. A code point cut short becomes U+FFFD.
    std::string finish();

  private:
    std::string cut_and_release();
    std::size_t held_bytes() const;

    std::vector<std::string> stops_;
    std::string partial_;  // an unfinished code point, at most 3 bytes
    std::string pending_;  // valid UTF-8 that is not released yet
    bool stopped_ = false;
};

}  // namespace exa::openai
