@0xa7c4e1d28b905f36;
struct LinkPlaceholder { value @0 :UInt8; }
