public import PosternJSON

/// `getInfo`: what is running.
public enum GetInfo: RPCMethod {
  public typealias Params = NoParams
  public static let name = "getInfo"
  public static let bounds: PeerBounds = []
  public static let chain: ChainRule = .open
  public static let traits: MethodTraits = .isProbe
  public static let summary = "Name, version and build of the running sidecar"
  public static let resultSummary = "Name, version and build"

  /// Versions of the libraries it runs with.
  public struct Libraries: RPCObject {
    public let curl: String
    public let openssl: String
    public let jansson: String
    public let swift: String

    /// Versions as the libraries report them at run time.
    public init(curl: String, openssl: String, jansson: String, swift: String) {
      self.curl = curl
      self.openssl = openssl
      self.jansson = jansson
      self.swift = swift
    }

    public static let memberDocs = [
      "curl": "libcurl's version at run time",
      "openssl": "OpenSSL's version at run time",
      "jansson": "jansson's version at run time",
      "swift": "The compiler's version",
    ]
  }

  public struct Result: RPCObject {
    public let name: String
    public let version: String
    public let protocolVersion: String
    public let pid: Int
    public let startedAt: String
    public let libraries: Libraries
    public let features: [String]
    public let hardening: Hardening

    /// A result of the given parts.
    public init(
      name: String, version: String, protocolVersion: String, pid: Int, startedAt: String, libraries: Libraries,
      features: [String], hardening: Hardening
    ) {
      self.name = name
      self.version = version
      self.protocolVersion = protocolVersion
      self.pid = pid
      self.startedAt = startedAt
      self.libraries = libraries
      self.features = features
      self.hardening = hardening
    }

    public static let memberDocs = [
      "name": "Always \"postern\"",
      "version": "The release",
      "protocolVersion": "The wire contract's version: changes of the first number break callers",
      "pid": "The sidecar's process id, in its own PID namespace",
      "startedAt": "When it started, RFC 3339 in UTC",
      "libraries": "Versions of the libraries it runs with",
      "features": "Features of this build and configuration; `development.…` names a development switch that is on",
      "hardening": "Protections that are in force, as the kernel reports them",
    ]
  }
}

extension GetInfo {
  /// How the process protects itself: the protections that are in force, not the configured ones.
  public struct Hardening: RPCObject {
    public let noNewPrivileges: Bool
    public let dumpable: Bool
    public let coreDumps: Bool
    public let writableCode: Bool
    public let landlock: Landlock
    public let seccomp: Bool
    public let lockedMemory: LockedMemory
    public let missing: [String]

    /// Protections as they are.
    public init(
      noNewPrivileges: Bool, dumpable: Bool, coreDumps: Bool, writableCode: Bool, landlock: Landlock, seccomp: Bool,
      lockedMemory: LockedMemory, missing: [String]
    ) {
      self.noNewPrivileges = noNewPrivileges
      self.dumpable = dumpable
      self.coreDumps = coreDumps
      self.writableCode = writableCode
      self.landlock = landlock
      self.seccomp = seccomp
      self.lockedMemory = lockedMemory
      self.missing = missing
    }

    public static let memberDocs = [
      "noNewPrivileges": "Whether no program that is executed can gain privileges",
      "dumpable": "Whether its own user may trace the process and read its memory",
      "coreDumps": "Whether the process leaves core dumps",
      "writableCode": "Whether memory that was written can become code",
      "landlock": "Limits for files, TCP ports and what lies outside of the process",
      "seccomp": "Whether system calls that it never needs are forbidden",
      "lockedMemory": "The memory that secrets are kept in",
      "missing": "Protections that are not in force, with the reason",
    ]
  }

  /// Limits by Landlock, landlock(7).
  public struct Landlock: RPCObject {
    public let abi: Int
    public let fileSystem: Bool
    public let network: Bool
    public let scope: Bool

    /// Limits as they are.
    public init(abi: Int, fileSystem: Bool, network: Bool, scope: Bool) {
      self.abi = abi
      self.fileSystem = fileSystem
      self.network = network
      self.scope = scope
    }

    public static let memberDocs = [
      "abi": "The ABI that is made use of; 0 when there is none",
      "fileSystem": "Whether only the files can be read and written that the configuration needs",
      "network": "Whether only the TCP ports can be connected to and listened on that the configuration needs",
      "scope": "Whether abstract sockets of other processes, and signals to them, are forbidden",
    ]
  }

  /// The memory that secrets are kept in.
  public struct LockedMemory: RPCObject {
    public let lockedBytes: Int
    public let unlockedBytes: Int

    /// Memory as it is.
    public init(lockedBytes: Int, unlockedBytes: Int) {
      self.lockedBytes = lockedBytes
      self.unlockedBytes = unlockedBytes
    }

    public static let memberDocs = [
      "lockedBytes": "How much of it can never be in the swap space",
      "unlockedBytes": "How much of it could be",
    ]
  }
}

/// `rpc.discover` (OpenRPC 1.3, service discovery).
public enum Discover: RPCMethod {
  public typealias Params = NoParams
  public typealias Result = JSONValue
  public static let name = "rpc.discover"
  public static let bounds: PeerBounds = []
  public static let chain: ChainRule = .open
  public static let summary = "The OpenRPC document of this sidecar"
  public static let resultSummary = "An OpenRPC 1.3 document"
}
