import HTTPMessages
import PosternSupport

/// What the names of objects in fields of a resource server mean as URLs. An object store decodes a name once, and
/// resolves no dot segments in it.
struct ObjectNames {
  private let base: HTTPURL
  /// The account of an OpenStack Swift server; nil where the base URL does not look like one.
  let account: SwiftAccount?

  init(base: HTTPURL) {
    self.base = base
    account = SwiftAccount(of: base)
  }

  /// Whether it is an Amazon Resource Name, which names an access point instead of a bucket.
  static func isARN(_ value: String) -> Bool { value.startsWithBytes(of: "arn:") }

  /// `bucket/key`, with or without a slash before it.
  func object(_ value: String) throws(HTTPURLError) -> SecondURLs.Target {
    guard !Self.isARN(value) else { return .unclear }
    let hasSlash = value.startsWithBytes(of: "/")
    let name = Self.decodingSlashes(hasSlash ? String(value.dropFirst()) : value)
    guard !Self.hasDotSegment(name) else { return Self.dotSegment }
    switch style {
    case .unknown: return .unclear
    case .path:
      let url = try base.replacingPath("/" + name)
      return .url(url, value: hasSlash ? url.pathAndQuery : String(url.pathAndQuery.dropFirst()))
    case .virtualHost(let own):
      let bucket = String(name.prefix(beforeBytes: "/", "?"))
      guard bucket.hasSameASCIILetters(as: own) else { return .outside }
      let key = name.utf8.dropFirst(bucket.utf8.count).drop { $0 == UInt8(ascii: "/") }
      let url = try base.replacingPath("/" + String(Substring(key)))
      return .url(url, value: (hasSlash ? "/" : "") + bucket + url.pathAndQuery)
    }
  }

  /// `host/key`.
  func hostedObject(_ value: String) throws(HTTPURLError) -> SecondURLs.Target {
    guard !Self.hasDotSegment(value) else { return Self.dotSegment }
    if value.containsBytes(of: "://") {
      let url = try HTTPURL(value)
      return .url(url, value: "\(url)")
    }
    let scheme = "\(base.origin.scheme)://"
    let url = try HTTPURL(scheme + value)
    return .url(url, value: String("\(url)".dropFirst(scheme.count)))
  }

  /// `container/object`, in the account of the base URL.
  func accountObject(_ value: String, isPrefix: Bool = false) throws(HTTPURLError) -> SecondURLs.Target {
    try account?.object(value, isPrefix: isPrefix) ?? .unclear
  }

  // MARK: - Where the bucket is

  private enum Style {
    /// The first segment of the path.
    case path
    /// The first part of the host's name.
    case virtualHost(String)
    case unknown
  }

  /// The labels of hosts by which stores that take the bucket into the name are recognised: `s3` and `s3-…`, as at
  /// Amazon, Backblaze, Wasabi or Scaleway; `oss-…` of Alibaba Cloud, `obs` of Huawei Cloud, `tos-…` of Volcengine.
  private static let labels = ["s3", "obs"]
  private static let labelPrefixes = ["s3-", "s3express-", "oss-", "tos-"]

  private var style: Style {
    let host = base.origin.host
    let labels = host.split(atByte: ".").map(String.init)
    // An address, or a name of one part, has no buckets in it.
    guard base.origin.host.utf8.first != UInt8(ascii: "["), let last = labels.last, labels.count > 1,
      !last.utf8.allSatisfy({ (0x30...0x39).contains($0) })
    else { return .path }
    let google = ".storage.googleapis.com"
    if host == google.dropFirst() { return .path }
    if host.endsWithBytes(of: google) { return .virtualHost(String(host.dropLast(google.count))) }
    let service = labels.lastIndex { label in
      Self.labels.contains(label) || Self.labelPrefixes.contains { label.startsWithBytes(of: $0) }
    }
    // The first segment of a base URL's path is the bucket, where it is not in the name.
    guard let service else { return base.path == "/" ? .unknown : .path }
    return service == 0 ? .path : .virtualHost(labels[..<service].joined(separator: "."))
  }

  // MARK: - Texts

  fileprivate static let dotSegment = SecondURLs.Target.invalid(
    "holds a dot segment, which object stores do not resolve")

  /// Whether a name has a dot segment.
  static func hasDotSegment(_ name: String) -> Bool {
    PathInspection.hasDotSegment(asWritten: String(name.prefix(beforeBytes: "?", "#")))
  }

  /// The name with slashes for encoded ones, as a store reads it; not in its query.
  private static func decodingSlashes(_ name: String) -> String {
    let path = name.prefix(beforeBytes: "?")
    guard path.utf8.contains(UInt8(ascii: "%")) else { return name }
    let parts = path.split(atByte: "%", omittingEmptySubsequences: false)
    var result = String(parts[0])
    for part in parts.dropFirst() {
      let isSlash = part.startsWithBytes(of: "2F") || part.startsWithBytes(of: "2f")
      result += isSlash ? "/" + part.dropFirst(2) : "%" + part
    }
    return result + name.dropFirst(path.count)
  }
}

/// The account of an OpenStack Swift server (`/v1/AUTH_…`), or of Ceph's (`/swift/v1`), in whose URL containers are.
struct SwiftAccount {
  private let base: HTTPURL
  private let path: String

  /// Nil where the base URL has none.
  init?(of base: HTTPURL) {
    let segments = base.path.split(atByte: "/").map(String.init)
    func isAccount(_ index: Int) -> Bool {
      segments.indices.contains(index)
        && ["AUTH_", "KEY_"].contains { segments[index].startsWithBytes(of: $0) }
    }
    let count: Int
    switch (segments.first, segments.dropFirst().first) {
    case ("swift", "v1"): count = isAccount(2) ? 3 : 2
    case ("v1", _) where isAccount(1): count = 2
    default: return nil
    }
    self.base = base
    path = "/" + segments.prefix(count).joined(separator: "/")
  }

  /// `container/object`, with or without a slash before it.
  func object(_ value: String, isPrefix: Bool = false) throws(HTTPURLError) -> SecondURLs.Target {
    let hasSlash = value.startsWithBytes(of: "/")
    let name = hasSlash ? String(value.dropFirst()) : value
    guard !ObjectNames.hasDotSegment(name) else { return ObjectNames.dotSegment }
    // Ceph: another tenant's container.
    guard !name.prefix(beforeBytes: "/").utf8.contains(UInt8(ascii: ":")) else { return .unclear }
    let url = try base.replacingPath("\(path)/\(name)")
    let canonical = url.pathAndQuery.utf8.dropFirst(path.utf8.count + (hasSlash ? 0 : 1))
    return .url(url, value: String(Substring(canonical)), isPrefix: isPrefix)
  }
}
