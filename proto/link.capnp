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
  inFlightLimit @5 :UInt16;   # what the replica admits at present; 0: as its record says
  queued @6 :UInt16;          # requests that wait for a place
  ttftP99Ms @7 :UInt16;       # of recent answers, time to first token; 0: unknown
  tbtP99Ms @8 :UInt16;        # time between tokens; 0: unknown
}

# Each but the last is one path of the API. An acceptor that does not know the kind ends the stream with `notSupported`.
enum RequestKind {
  chat @0;                    # /v1/chat/completions
  completion @1;              # /v1/completions
  embedding @2;               # /v1/embeddings
  response @3;                # /v1/responses
  tokenize @4;                # /tokenize
  detokenize @5;              # /detokenize
  kv @6;                      # no path: the body is a question about KV cache (src/kv/messages.h)
}

# Who goes first where requests wait.
enum Priority {
  high @0;
  normal @1;
  low @2;
}

# An HTTP field that is passed on: never one of the connection's own or of its framing, nor credentials or cookies. At
# most 32 in a message, names to 64 bytes and values to 1 KiB, 8 KiB in all.
struct HeaderField {
  name @0 :Text;              # a token in lower case
  value @1 :Text;
}

# One request for one replica of the receiver. Names and ids have at most 128 bytes.
struct Open {
  replica @0 :Replica;
  model @1 :Text;
  version @2 :Text;
  tenant @3 :Text;
  kind @4 :RequestKind;
  unused5 @5 :UInt8;
  xRequestId @6 :Text;
  responseId @7 :Text;
  createdUnixS @8 :Int64;
  seed @9 :UInt64;
  sessionPosition @10 :UInt64;  # on the ring
  resumed @11 :Bool;            # the stream began elsewhere; the tokens are the answer so far (it may be empty)
  tokens @12 :List(UInt32);     # of choice 0
  body @13 :Data;               # the client's JSON, untouched
  moreTokens @14 :List(List(UInt32));  # of choices 1, 2, ...: as many as the client asked for beyond the first, to 127
  target @15 :Text;             # path and query as the client wrote them, to 1 KiB: what an attached server is asked
  headers @16 :List(HeaderField);  # of the client, for an attached server
  priority @17 :Priority = normal;
  queueMs @18 :UInt32;          # how long it may wait for a place, to an hour; 0: the answer is `busy` at once
}

# The answer has begun.
struct Head {
  status @0 :UInt16;
  contentType @1 :Text;
  load @2 :Load;
  headers @3 :List(HeaderField);  # of an attached server, for the client
  contentLength @4 :Int64 = -1;   # of the body; -1: it ends with the stream
}

enum EndCode {
  ok @0;
  busy @1;
  notFound @2;
  wrongVersion @3;
  draining @4;
  failed @5;
  cancelled @6;
  deadline @7;                # it waited for a place as long as it might
  tooLong @8;
  notSupported @9;            # not by this replica's engine
}

# The last frame of a stream from the acceptor. A code that the dialler does not know reads as `failed`.
struct End {
  code @0 :EndCode;
  message @1 :Text;
  load @2 :Load;
  retryAfterMs @3 :UInt32;    # of busy, draining, deadline: when to try this replica again, to an hour; 0: not said
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
