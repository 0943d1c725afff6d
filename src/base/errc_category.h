// ErrcCategory: the std::error_category of a folder's errc, of a name and of the message for each code.
//
// A folder declares `std::error_code make_error_code(errc)` in its errc.h and defines it in its errc.cc with a static
// ErrcCategory. The messages are a function with a switch, so that the compiler finds a code without one.
#pragma once

#include <string>
#include <system_error>

namespace exa {

template <class Errc>
class ErrcCategory final : public std::error_category {
  public:
    // `message_of` gives null for a number that is no code.
    using MessageOf = const char* (*)(Errc code);

    ErrcCategory(const char* name, MessageOf message_of) : name_(name), message_of_(message_of) {}

    const char* name() const noexcept override { return name_; }
    std::string message(int code) const override {
        if (const char* const text = message_of_(static_cast<Errc>(code))) return text;
        return std::string("unknown ") + name_ + " error";
    }

    std::error_code operator()(Errc code) const { return {static_cast<int>(code), *this}; }

  private:
    const char* const name_;
    const MessageOf message_of_;
};

}  // namespace exa
