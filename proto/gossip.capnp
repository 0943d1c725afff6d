# Membership on the wire: datagrams (Packet) and messages over the peer link (Sync).
#
# Datagrams are packed and at most 1,400 bytes with the seal around them; link messages are packed and at most 256 KiB.
# Fields are only ever added at the end; what a reader does not know it ignores. A change that an old reader would
# misunderstand takes a new major version. Bytes of every kind are kept in proto/vectors.
@0xd5f0a9f6b3c1e274;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("exa::wire::schema");

enum PeerState { starting @0; serving @1; draining @2; leaving @3; }

enum ReplicaState {
  created @0; loading @1; warming @2; ready @3; draining @4; stopped @5; degraded @6; failed @7;
}

# `lost` does not travel: it is dead for long enough on the observer's own clock.
enum MemberState { alive @0; suspect @1; dead @2; left @3; }

# Who speaks: one instance of one peer, how often it refuted, and which version of its record it holds.
struct Header {
  cluster @0 :UInt64;
  sender @1 :UInt64;
  generation @2 :UInt64;
  incarnation @3 :UInt64;
  recordVersion @4 :UInt64;
  instance @5 :UInt32;            # random at each start: tells a peer from its clone; never 0
  versionMajor @6 :UInt16;
  versionMinor @7 :UInt16;
}

struct Fact {
  subject @0 :UInt64;
  generation @1 :UInt64;
  incarnation @2 :UInt64;
  accuser @3 :UInt64;         # of suspect and dead; 0 otherwise
  state @4 :MemberState;
}

# All of a peer's record but its replicas. Addresses are 16 bytes, big endian, IPv4 mapped into IPv6.
struct PeerProfile {
  name @0 :Text;
  region @1 :Text;
  rack @2 :Text;
  gossipHigh @3 :UInt64;
  gossipLow @4 :UInt64;
  linkHigh @5 :UInt64;
  linkLow @6 :UInt64;
  httpHigh @7 :UInt64;
  httpLow @8 :UInt64;
  gossipPort @9 :UInt16;
  linkPort @10 :UInt16;
  httpPort @11 :UInt16;
  state @12 :PeerState;
  keys @13 :List(UInt32);     # ids of the cluster keys on its disk, sorted
  primaryKey @14 :UInt32;     # what it seals with; 0: it is not sealed
  kvGib @15 :UInt16;          # KV cache that it keeps for the cluster, at least 1; 0: none
  nameClaim @16 :UInt32;      # to its name: one more than any that it knew of; 0: it does not hold the name
  nameSupport @17 :UInt16;    # peers that it knew alive, itself included, at a recent time
}

# What replicas of one deployment share, once a message instead of once a replica.
struct ReplicaProfile {
  deploymentId @0 :UInt64;
  deployment @1 :Text;
  model @2 :Text;
  version @3 :Text;
  tenantPool @4 :Text;
  role @5 :Text;
  numerics @6 :Text;
  weight @7 :UInt32;
  inFlightLimit @8 :UInt32;
  contextTokens @9 :UInt32;
}

struct Replica {
  profile @0 :UInt16;         # index into the delta's profiles
  slot @1 :UInt16;
  state @2 :ReplicaState;
}

struct ReplicaRef {
  deploymentId @0 :UInt64;
  slot @1 :UInt16;
}

# Every part of a record that changed in (base, version]: it turns any version in [base, version) into `version`.
# base = 0 is the whole record, base = version only says which version the sender holds.
struct Delta {
  peer @0 :UInt64;
  generation @1 :UInt64;
  incarnation @2 :UInt64;
  base @3 :UInt64;
  version @4 :UInt64;
  instance @5 :UInt32;
  profile @6 :PeerProfile;              # absent: unchanged
  replicaProfiles @7 :List(ReplicaProfile);
  replicas @8 :List(Replica);
  removed @9 :List(ReplicaRef);
}

struct Load {
  deploymentId @0 :UInt64;
  inFlight @1 :UInt32;
  queuedTokens @2 :UInt32;
  slot @3 :UInt16;
  kvUsedPermille @4 :UInt16;
  inFlightLimit @5 :UInt16;   # what the replica admits at present; 0: as its profile says
  queued @6 :UInt16;          # requests that wait for a place
  ttftP99Ms @7 :UInt16;       # of recent answers, time to first token; 0: unknown
  tbtP99Ms @8 :UInt16;        # time between tokens; 0: unknown
}

struct LoadGroup {
  peer @0 :UInt64;
  generation @1 :UInt64;
  number @2 :UInt64;          # grows with every report of this instance: the highest wins
  ageMs @3 :UInt32;
  loads @4 :List(Load);
  part @5 :UInt16;            # a peer's replicas by id, cut into groups of eight: which group this is
}

struct Packet {
  header @0 :Header;
  kind @1 :UInt16;            # 0 ping, 1 ack, 2 nack, 3 ping request, 4 gossip only
  wantRecord @2 :Bool;        # the sender does not know the receiver: send your record
  seq @3 :UInt64;
  target @4 :UInt64;          # of ping and ping request: who is meant (0: whoever is there); of ack and nack: about whom
  targetHigh @5 :UInt64;      # of ping request
  targetLow @6 :UInt64;
  targetPort @7 :UInt16;
  facts @8 :List(Fact);
  records @9 :List(Delta);
  loads @10 :List(LoadGroup);
  round @11 :UInt32;          # of ping: the sender's probe round
  roster @12 :UInt32;         # of ping: tells apart what two peers know; 0: not said
  cannotLink @13 :Bool;       # the sender can open no link to the receiver
}

struct DigestEntry {
  peer @0 :UInt64;
  generation @1 :UInt64;
  incarnation @2 :UInt64;
  version @3 :UInt64;
  state @4 :MemberState;
}

struct Pull {
  peer @0 :UInt64;
  generation @1 :UInt64;
  version @2 :UInt64;         # held by the asker; 0: nothing
}

struct Key {
  id @0 :UInt32;
  stamp @1 :UInt64;
  secret @2 :Data;            # 32 bytes, or absent: the key was removed
}

struct Sync {
  header @0 :Header;
  kind @1 :UInt16;            # 0 ping, 1 ack, 2 digest, 3 updates, 4 keys, 5 summary
  more @2 :Bool;              # of updates: the answer goes on in the next message
  wantLoads @3 :Bool;         # of digest and summary
  seq @4 :UInt64;             # of updates: the digest or summary they answer, or 0
  first @5 :UInt64;           # of digest: it lists every peer its sender knows with an id in [first, last]
  last @6 :UInt64;
  digest @7 :List(DigestEntry);
  facts @8 :List(Fact);
  records @9 :List(Delta);
  loads @10 :List(LoadGroup);
  pulls @11 :List(Pull);
  keysHash @12 :UInt64;       # of digest and summary: tells key rings apart; 0: not sealed
  wantKeys @13 :Bool;         # of keys: send yours when it says more
  keys @14 :List(Key);        # of keys: the sender's ring, sorted by id
  primaryKey @15 :UInt32;     # of keys
  primaryStamp @16 :UInt64;   # of keys
  summary @17 :List(UInt64);  # of summary: 64 hashes, each of the digest entries with ids of the same 6 high bits
}
