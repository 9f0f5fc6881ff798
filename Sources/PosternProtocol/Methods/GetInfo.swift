/// `getInfo`: what is running.
public enum GetInfo: RPCMethod {
  public typealias Params = NoParams
  public static let name = "getInfo"
  public static let bounds: PeerBounds = []
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
