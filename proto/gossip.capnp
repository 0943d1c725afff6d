@0xd5f0a9f6b3c1e274;
struct Placeholder { value @0 :UInt8; }
