// A link's byte stream from anyone: frames are cut and decoded, or the link ends; never a crash.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "wire/frame.h"
#include "wire/link_messages.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace exa::wire;
    FrameReader reader;
    reader.accept_all();
    const auto space = reader.prepare(std::max<std::size_t>(size, 1));
    std::copy_n(data, size, space.begin());
    reader.commit(size);
    while (true) {
        const auto frame = reader.next();
        if (!frame || !frame.value()) return 0;
        const exa::ByteView payload = frame.value()->payload;
        (void)decode_hello(payload);
        (void)decode_open(payload);
        (void)decode_head(payload);
        (void)decode_data(payload, frame.value()->header.choice);
        (void)decode_end(payload);
        (void)decode_credit(payload);
        (void)decode_goodbye(payload);
    }
}
