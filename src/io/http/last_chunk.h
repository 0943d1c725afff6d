// What Beast's parser must not be offered.
#pragma once

#include <cstddef>

namespace exa::io::http {

// Once it has seen the size of the last chunk it asserts that it is offered five bytes or more: "0", CR LF and one byte
// after them would end the process. The five bytes that end a chunked message are taken together, so fewer can wait.
template <class Parser>
bool must_wait_for_more(const Parser& parser, std::size_t bytes) {
    return bytes < 5 && parser.is_header_done() && parser.chunked();
}

}  // namespace exa::io::http
