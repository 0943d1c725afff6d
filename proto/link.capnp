@0xa7c4e1d28b905f36;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("exa::wire::link_proto");

# Messages of a peer link. Each is the payload of one frame of the same name (src/wire/frame.h); data, credit, ping and
# pong have fixed layouts there and are not here. Fields are only ever added, at the end: wire version minor grows.

# First frame each way. The acceptor answers with its own, or with a Goodbye.
struct Hello {
  cluster @0 :UInt64;         # hash of the cluster's name
  versionMajor @1 :UInt16;    # both ends must agree
  versionMinor @2 :UInt16;
  peer @3 :UInt64;            # the sender
  generation @4 :UInt64;
  target @5 :UInt64;          # who the sender means to talk to; 0: whoever listens there
  name @6 :Text;
}

struct Replica {
  peer @0 :UInt64;
  deployment @1 :UInt64;
  slot @2 :UInt16;
}

struct Load {
  replica @0 :Replica;
  inFlight @1 :UInt32;
  queuedTokens @2 :UInt32;
  kvUsedPermille @3 :UInt16;
  ageUs @4 :UInt64;
}

enum RequestKind {
  chat @0;
  completion @1;
}

# One request for one replica of the receiver.
struct Open {
  replica @0 :Replica;
  model @1 :Text;
  version @2 :Text;
  tenant @3 :Text;
  kind @4 :RequestKind;
  hops @5 :UInt8;
  xRequestId @6 :Text;
  responseId @7 :Text;
  createdUnixS @8 :Int64;
  seed @9 :UInt64;
  sessionPosition @10 :UInt64;  # on the ring
  resumed @11 :Bool;            # the stream began elsewhere; `tokens` is the answer so far (it may be empty)
  tokens @12 :List(UInt32);
  body @13 :Data;               # the client's JSON, untouched
}

# The answer has begun.
struct Head {
  status @0 :UInt16;
  contentType @1 :Text;
  load @2 :Load;
}

enum EndCode {
  ok @0;
  busy @1;
  notFound @2;
  wrongVersion @3;
  draining @4;
  failed @5;
  cancelled @6;
  deadline @7;
  tooLong @8;
}

# The last frame of a stream from the acceptor.
struct End {
  code @0 :EndCode;
  message @1 :Text;
  load @2 :Load;
}

enum GoodbyeCode {
  closing @0;
  wrongCluster @1;
  wrongVersion @2;
  wrongTarget @3;
  tooMany @4;
  malformed @5;
  timedOut @6;
}

# The last frame of a link: why the sender closes it.
struct Goodbye {
  code @0 :GoodbyeCode;
  message @1 :Text;
}
