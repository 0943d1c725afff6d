// What TlsSettings keep, for TlsStream.
#pragma once

#include <memory>

#include "io/tls/memory_bio.h"
#include "io/tls/settings.h"

namespace exa::io::tls {

struct TlsSettings::Parts {
    MemoryBio bio;
    std::unique_ptr<SSL_CTX, FreeSsl> context;
    CertificateFacts facts;
    bool is_server = false;
    bool checks_name = true;
};

}  // namespace exa::io::tls
