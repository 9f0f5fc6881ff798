import AuthEngine
import EngineTestSupport
import HTTPMessages
import OAuthClient
import PosternSupport
import PosternTestSupport
import Testing

@testable import ResourceAccess

/// Fields whose value names another resource: the same checks as for the request's own URL.
@Suite("A second URL is bound as the first", .bothWays)
struct SecondURLTests {
  /// A request to `inbox/a` below the base URL.
  struct Row: Sendable, CustomTestStringConvertible {
    let base: String
    let name: String
    let value: String
    /// The value that is sent; nil: the request is rejected.
    let sent: String?
    var isNarrowed = false
    var testDescription: String { "\(base) \(name): \(value)" }

    init(_ base: String, _ name: String, _ value: String, _ sent: String?, narrowed: Bool = false) {
      self.base = base
      self.name = name
      self.value = value
      self.sent = sent
      isNarrowed = narrowed
    }
  }

  private static let dav = "https://dav.test/tenant-a/"
  private static let path = "https://s3.eu-west-1.amazonaws.com/bucket/tenant-a/"
  private static let virtual = "https://my.bucket.s3.eu-west-1.amazonaws.com/tenant-a/"
  private static let swift = "https://swift.test/v1/AUTH_a/"

  static let references: [Row] = [
    .init(dav, "Destination", "https://dav.test/tenant-a/inbox/b", "https://dav.test/tenant-a/inbox/b"),
    .init(dav, "destination", "HTTPS://DAV.test:443/tenant-a/%69nbox/b", "https://dav.test/tenant-a/inbox/b"),
    .init(dav, "Destination", "/tenant-a/inbox/b", "/tenant-a/inbox/b"),
    .init(dav, "Destination", "/tenant-a/x/../inbox/b?v=1", "/tenant-a/inbox/b?v=1"),
    .init(dav, "Destination", "  /tenant-a/b\t", "/tenant-a/b"),
    .init(dav, "Destination", "/tenant-a/a%20b;v=1/caf%C3%A9", "/tenant-a/a%20b;v=1/caf%C3%A9"),
    .init(dav, "Destination", "b", "b"),
    .init(dav, "Destination", "b%20c?rev=1-2", "b%20c?rev=1-2"),
    .init(dav, "Destination", "b", "/tenant-a/inbox/b", narrowed: true),
    .init(dav, "Destination", "./x:y", "/tenant-a/inbox/x:y"),
    .init(dav, "Destination", "x/../b", "b"),
    .init(dav, "Destination", "../other/b", "/tenant-a/other/b"),
    .init(dav, "Destination", "../../tenant-a/b", "/tenant-a/b"),
    .init(dav, "Destination", "?x=1", "a?x=1"),
    .init(dav, "Destination", "", ""),
    .init(dav, "Destination", "https://cdn.test/x", "https://cdn.test/x"),
    .init(dav, "Destination", "https://dav.test/tenant-b/b", nil),
    .init(dav, "Destination", "https://evil.test/tenant-a/b", nil),
    .init(dav, "Destination", "http://dav.test/tenant-a/b", nil),
    .init(dav, "Destination", "https://dav.test:444/tenant-a/b", nil),
    .init(dav, "Destination", "https://user@dav.test/tenant-a/b", nil),
    .init(dav, "Destination", "//dav.test/tenant-a/b", nil),
    .init(dav, "Destination", "//evil.test/x", nil),
    .init(dav, "Destination", "/tenant-b/b", nil),
    .init(dav, "Destination", "/tenant-ab", nil),
    .init(dav, "Destination", "/", nil),
    .init(dav, "Destination", "../../tenant-b/b", nil),
    .init(dav, "Destination", "/tenant-a/../tenant-b/b", nil),
    .init(dav, "Destination", "/tenant-a/%2e%2e/tenant-b/b", nil),
    .init(dav, "Destination", "/tenant-a/..%2ftenant-b/b", nil),
    .init(dav, "Destination", "/tenant-a/..%3f/b", nil),
    .init(dav, "Destination", "/tenant-a/..%20/b", nil),
    .init(dav, "Destination", "/tenant-a/%252e%252e/b", nil),
    .init(dav, "Destination", "/tenant-a/..;x/b", nil),
    .init(dav, "Destination", "/tenant-a/%5cb", nil),
    .init(dav, "Destination", "/tenant-a/b%00", nil),
    .init(dav, "Destination", "/tenant-a\\b", nil),
    .init(dav, "Destination", "/tenant-a/a b", nil),
    .init(dav, "Destination", "/tenant-a/\u{a0}b", nil),
    .init(dav, "Destination", "/tenant-a/%zz", nil),
    .init(dav, "Destination", "javascript:x", nil),
    .init(dav, "Destination", "urn:uuid:1", nil),
    .init(dav, "X-SVN-VR-Base", "/tenant-b/!svn/ver/1/x", nil),
    .init(dav, "X-SVN-VR-Base", "/tenant-a/!svn/ver/1/x", "/tenant-a/!svn/ver/1/x"),
    .init(
      "https://a.blob.core.windows.net/box/", "x-ms-copy-source", "https://a.blob.core.windows.net/box/x?sv=1&sig=%2B",
      "https://a.blob.core.windows.net/box/x?sv=1&sig=%2B"),
    .init("https://a.blob.core.windows.net/box/", "x-ms-copy-source", "https://b.blob.core.windows.net/box/x", nil),
    .init("https://a.blob.core.windows.net/box/", "X_MS_Copy_Source", "https://a.blob.core.windows.net/other/x", nil),
    .init("https://a.dfs.core.windows.net/box/", "x-ms-rename-source", "/box/a/b", "/box/a/b"),
    .init("https://a.dfs.core.windows.net/box/", "x-ms-rename-source", "/other/b", nil),
    .init(
      "https://a.file.core.windows.net/share/", "x-ms-file-rename-source", "https://a.file.core.windows.net/x", nil),
  ]

  static let conditions: [Row] = [
    .init(
      dav, "If", "(<urn:uuid:1> [\"a)<>(\"]) (Not <DAV:no-lock>)", "(<urn:uuid:1> [\"a)<>(\"]) (Not <DAV:no-lock>)"),
    .init(
      dav, "If", "<https://dav.test/tenant-a/x/../b> (<urn:uuid:1>) </tenant-a/c> ([W/\"x\"])",
      "<https://dav.test/tenant-a/b> (<urn:uuid:1>) </tenant-a/c> ([W/\"x\"])"),
    .init(dav, "If", "<https://dav.test/tenant-b/x> (<urn:uuid:1>)", nil),
    .init(dav, "If", "<https://dav.test/tenant-a/x> (<urn:uuid:1>) </tenant-b/c> (<urn:uuid:2>)", nil),
    .init(dav, "If", "<https://evil.test/x> (<urn:uuid:1>)", nil),
    .init(dav, "If", "([\"x\"]<https://dav.test/tenant-b/x>) </tenant-b/x> ([\"y\"])", nil),
    .init(dav, "If", "(<urn:uuid:1>", nil), .init(dav, "If", "<https://dav.test/tenant-a/x", nil),
    .init(dav, "If", "x", nil), .init(dav, "If", "((<urn:uuid:1>))", nil),
    .init("https://dav.test/", "If", "x", "x"), .init("https://dav.test/", "If", "x", nil, narrowed: true),
  ]

  static let objects: [Row] = [
    .init(path, "x-amz-copy-source", "bucket/tenant-a/x", "bucket/tenant-a/x"),
    .init(path, "x-amz-copy-source", "/bucket/tenant-a/x?versionId=abc", "/bucket/tenant-a/x?versionId=abc"),
    .init(path, "X-Amz-Copy-Source", "bucket%2Ftenant-a%2fx%20y", "bucket/tenant-a/x%20y"),
    .init(path, "x-amz-copy-source", "/bucket/tenant-b/x", nil),
    .init(path, "x-amz-copy-source", "/bucket/tenant-a/../tenant-b/x", nil),
    .init(path, "x-amz-copy-source", "bucket%2Ftenant-a%2F..%2Ftenant-b%2Fx", nil),
    .init(path, "x-amz-copy-source", "/bucket/tenant-a/%2e%2e/x", nil),
    .init(path, "x-amz-copy-source", "/other/tenant-a/x", nil),
    .init(path, "x-amz-copy-source", "tenant-a/x", nil),
    .init(path, "x-amz-copy-source", "https://evil.test/bucket/tenant-a/x", nil),
    .init(path, "x-amz-copy-source", "arn:aws:s3:eu-west-1:1:accesspoint/a/object/x", nil),
    .init(path, "x-amz-copy-source-range", "bytes=0-9", "bytes=0-9"),
    .init(path, "x-amz-copy-source-if-match", "\"x\"", "\"x\""),
    .init(virtual, "x-amz-copy-source", "my.bucket/tenant-a/x", "my.bucket/tenant-a/x"),
    .init(virtual, "x-amz-copy-source", "/My.bucket/tenant-a/x?versionId=1", "/My.bucket/tenant-a/x?versionId=1"),
    .init(virtual, "x-amz-copy-source", "my.bucket/tenant-b/x", nil),
    .init(virtual, "x-amz-copy-source", "other/tenant-a/x", nil),
    .init(virtual, "x-amz-copy-source", "tenant-a/x", nil),
    .init("https://b.storage.googleapis.com/t/", "x-goog-copy-source", "b/t/x", "b/t/x"),
    .init("https://b.storage.googleapis.com/t/", "x-goog-copy-source", "c/t/x", nil),
    .init("https://storage.googleapis.com/b/t/", "x-goog-copy-source", "/b/t/x", "/b/t/x"),
    .init("https://storage.googleapis.com/b/t/", "x-goog-copy-source", "/b/u/x", nil),
    .init("https://b.oss-cn-x.aliyuncs.com/t/", "x-oss-copy-source", "/b/t/x", "/b/t/x"),
    .init("https://b.oss-cn-x.aliyuncs.com/t/", "x-oss-copy-source", "/b/u/x", nil),
    .init("https://b.obs.x.myhuaweicloud.com/t/", "x-obs-copy-source", "/c/t/x", nil),
    .init("https://b.tos-cn-x.volces.com/t/", "x-tos-copy-source", "/b/u/x", nil),
    .init("https://bj.bcebos.test/b/t/", "x-bce-copy-source", "/b/u/x", nil),
    .init(
      "https://b-1.cos.x.myqcloud.com/t/", "x-cos-copy-source", "b-1.cos.x.myqcloud.com/t/x",
      "b-1.cos.x.myqcloud.com/t/x"),
    .init("https://b-1.cos.x.myqcloud.com/t/", "x-cos-copy-source", "c-1.cos.x.myqcloud.com/t/x", nil),
    .init("https://b-1.cos.x.myqcloud.com/t/", "x-cos-copy-source", "b-1.cos.x.myqcloud.com/u/x", nil),
    // Whether `minio` is a bucket cannot be known.
    .init("https://minio.test/", "x-amz-copy-source", "minio/x", "minio/x"),
    .init("https://minio.test/", "x-amz-copy-source", "minio/x", nil, narrowed: true),
    .init("https://minio.test/bucket/", "x-amz-copy-source", "/bucket/x", "/bucket/x", narrowed: true),
    .init("https://minio.test/bucket/", "x-amz-copy-source", "minio/bucket/x", nil),
    .init("https://10.0.0.1/", "x-amz-copy-source", "/b/x", "/b/x", narrowed: true),
    .init(swift, "X-Copy-From", "/box/x", "/box/x"), .init(swift, "X-Copy-From", "box/x", "box/x", narrowed: true),
    .init(swift, "X-Copy-From", "box/../x", nil), .init(swift, "X-Copy-From", "other:box/x", nil),
    .init(swift, "Destination", "box/x", "box/x"), .init(swift, "Destination", "/box/x", "/box/x"),
    .init(swift, "X-Copy-From-Account", "AUTH_b", nil), .init(swift, "Destination-Account", "AUTH_b", nil),
    .init(swift, "X-Object-Manifest", "box/x/", "box/x/"), .init(swift, "X-Symlink-Target", "box/x", "box/x"),
    .init("https://swift.test/v1/AUTH_a/box/t/", "X-Copy-From", "/box/u/x", nil),
    .init("https://swift.test/v1/AUTH_a/box/t/", "Destination", "box/u/x", nil),
    .init("https://swift.test/v1/AUTH_a/box/t/", "X-Object-Manifest", "box/t", nil),
    .init("https://ceph.test/swift/v1/box/", "X-Copy-From", "/box/x", "/box/x"),
    .init("https://ceph.test/swift/v1/box/", "X-Copy-From", "/other/x", nil),
    .init(dav, "X-Copy-From", "/tenant-a/x", nil), .init("https://dav.test/", "X-Copy-From", "/x/y", "/x/y"),
    .init("https://dav.test/", "X-Copy-From", "/x/y", nil, narrowed: true),
    .init(path, "x-amz-rename-source", "x", nil), .init(path, "x-oss-symlink-target", "x", nil),
    .init("https://b.test/", "x-oss-symlink-target", "x", "x"),
    .init("https://b.test/", "x-oss-symlink-target", "x", nil, narrowed: true),
    .init(dav, "X-New-Copy-Source", "x", nil), .init(dav, "X-Move-From", "x", nil),
    .init(dav, "X-New-Rename-To", "x", nil), .init(dav, "X-New-Copy-Destination", "x", nil),
    .init(dav, "X-Accel-Mapping", "/a=/b", nil), .init(dav, "X-Sendfile-Type", "X-Accel-Redirect", nil),
    .init(dav, "X-Vault-Namespace", "team", nil),
    .init("https://b.test/", "X-Vault-Namespace", "team", "team"),
    .init(dav, "X-New-Fetch-Source", "x", nil), .init(dav, "X-New-Move-To", "x", nil),
    .init("https://b.test/", "X-New-Copy-Source", "x", "x"),
    .init(dav, "Overwrite", "T", "T"), .init(dav, "Lock-Token", "<urn:uuid:1>", "<urn:uuid:1>"),
    .init(dav, "Referer", "https://evil.test/", "https://evil.test/"),
    .init(
      dav, "Link", "<https://www.w3.org/ns/ldp#Resource>; rel=type", "<https://www.w3.org/ns/ldp#Resource>; rel=type"),
  ]

  @Test(
    "a second URL goes up that the first could not be, or not as it was judged",
    arguments: references + conditions + objects)
  func bound(row: Row) async throws {
    let engine = Engine { _, _ in .status(201) }
    var server = try ResourceServer.testing(
      baseURL: row.base, additionalOrigins: ["https://cdn.test"], authentication: .none)
    var options = FetchOptions()
    options.narrowing = row.isNarrowed ? "level" : nil
    let request = ResourceRequest(
      path: "inbox/a", method: "PUT", headers: HTTPFields([.init(name: row.name, value: row.value)]))
    guard let sent = row.sent else {
      let error = await #expect(throws: ResourceError.self) {
        try await engine.fetcher.fetch(request, from: server, options: options)
      }
      #expect(error?.code == .invalidURL || error?.code == .invalidHeaders)
      #expect(error?.path?.jsonPointer == "/headers/\(row.name)" && error?.outcome == .notSent)
      #expect(engine.transport.requests.isEmpty)
      // The operator may know better.
      server.allowedHeaders = [row.name]
      if HTTPFieldRules.isValue(row.value) {
        _ = try await engine.fetcher.fetch(request, from: server, options: options)
        #expect(engine.transport.requests.first?.fields[row.name] == HTTPFieldRules.trimmed(row.value))
      }
      return
    }
    _ = try await engine.fetcher.fetch(request, from: server, options: options)
    #expect(engine.transport.requests.map { $0.fields[row.name] } == [sent])
  }

  @Test("a URL outside is another error than the one of the contract")
  func code() async throws {
    let engine = Engine { _, _ in .status(201) }
    for value in ["https://evil.test/x", "/tenant-b/x", "/tenant-a/..%2fx"] {
      let request = ResourceRequest(path: "a", headers: ["Destination": value])
      let error = await #expect(throws: ResourceError.self) {
        try await engine.fetcher.fetch(request, from: .testing(baseURL: Self.dav, authentication: .none))
      }
      #expect(error?.code == .invalidURL && error?.detail.contains("tenant-b") == false)
    }
  }

  @Test("of two fields of one name one is judged and the other one taken")
  func twice() async throws {
    let engine = Engine { _, _ in .status(201) }
    for (first, second) in [("Destination", "destination"), ("x-amz-copy-source", "X_Amz_Copy_Source")] {
      let headers = HTTPFields([
        .init(name: first, value: "/tenant-a/x"), .init(name: second, value: "/tenant-a/y"),
      ])
      let error = await #expect(throws: ResourceError.self) {
        try await engine.fetcher.fetch(
          ResourceRequest(path: "a", headers: headers), from: .testing(baseURL: Self.dav, authentication: .none))
      }
      #expect(error?.code == .invalidHeaders)
    }
    #expect(engine.transport.requests.isEmpty)
  }

  @Test("the resource's credential goes up in a second URL that a caller has made")
  func credential() async throws {
    let engine = Engine { _, _ in .status(201) }
    var server = try ResourceServer.testing(baseURL: Self.dav, authentication: .credential)
    server.credential = try StaticCredential(.query(name: "key"), value: Secret("s3cr3t-value"))
    let request = ResourceRequest(path: "a", headers: ["Destination": "/tenant-a/b?key=mine"])
    await #expect(throws: ResourceError.self) { try await engine.fetcher.fetch(request, from: server) }
    #expect(engine.transport.requests.isEmpty)
  }

  @Test(
    "a URL of the gateway goes up as it is, or another one is translated",
    arguments: [
      ("http://gw.test/files/inbox/b", "https://dav.test/tenant-a/inbox/b"),
      ("https://GW.test/files/inbox/b?v=1", "https://dav.test/tenant-a/inbox/b?v=1"),
      ("http://gw.test/files", "https://dav.test/tenant-a/"), ("/files/b", "/tenant-a/b"),
      ("/tenant-a/b", "/tenant-a/b"), ("https://dav.test/tenant-a/b", "https://dav.test/tenant-a/b"), ("b", "b"),
      ("http://gw.test/files/../files/b", "https://dav.test/tenant-a/b"),
      ("http://gw.test/other/b", nil), ("http://gw.test/filesystem/b", nil), ("http://gw.test/tenant-a/b", nil),
      ("http://gw.test:8080/files/b", nil), ("http://other.test/files/b", nil), ("/files/../x", nil),
      ("http://gw.test/files//evil.test/x", nil), ("/files/..%2fx", nil), ("http://gw.test/files/%2e%2e/other", nil),
    ] as [(String, String?)])
  func gateway(value: String, sent: String?) async throws {
    let engine = Engine { _, _ in .status(201) }
    let server = try ResourceServer.testing(baseURL: Self.dav, authentication: .none)
    var options = FetchOptions()
    options.gatewayURL = try HTTPURL("http://gw.test/files")
    let fields: HTTPFields = ["Destination": value, "If": "<\(value)> (<urn:uuid:1>)"]
    let request = ResourceRequest(path: "inbox/a", method: "PUT", headers: fields)
    guard let sent else {
      let error = await #expect(throws: ResourceError.self) {
        try await engine.fetcher.fetch(request, from: server, options: options)
      }
      #expect(error?.code == .invalidURL)
      return
    }
    _ = try await engine.fetcher.fetch(request, from: server, options: options)
    #expect(engine.transport.requests.first?.fields["Destination"] == sent)
    #expect(engine.transport.requests.first?.fields["If"] == "<\(sent)> (<urn:uuid:1>)")
  }

  @Test("a redirect makes another resource of a relative reference", arguments: [("/tenant-a/v", 2), ("/pub", 1)])
  func redirect(location: String, count: Int) async throws {
    let engine = Engine { request, _ in
      request.url.path == "/tenant-a/x/y" ? .status(307, ("Location", location)) : .status(201)
    }
    let server = try ResourceServer.testing(
      baseURL: Self.dav, additionalOrigins: ["https://dav.test/pub"], authentication: .none)
    let request = ResourceRequest(path: "x/y", method: "PUT", headers: ["Destination": "b"])
    _ = try await engine.fetcher.fetch(request, from: server)
    #expect(engine.transport.requests.count == count)
  }

  @Test("a namespace of Vault leads out of the base URL, or is rejected where it does not")
  func namespaces() throws {
    let rows: [(base: String, path: String, value: String, second: String?)] = [
      ("https://vault.test/v1/", "secret/data/a", "team", "/v1/team/secret/data/a"),
      ("https://vault.test/v1/", "secret/data/a", "/admin/team/", "/v1/admin/team/secret/data/a"),
      ("https://vault.test/v1/secret/", "data/a", "team", nil), ("https://vault.test/v1/", "secret/a", "../sys", nil),
      ("https://vault.test/v1/", "secret/a", "a%2Fb", nil), ("https://vault.test/api/", "secret/a", "team", nil),
      ("https://vault.test/v1/", "secret/a", "/", nil),
    ]
    for row in rows {
      let server = try ResourceServer.testing(baseURL: row.base, authentication: .none)
      let url = try server.url(forPath: row.path)
      do throws(ResourceError) {
        let read = try SecondURLs(server).reading(["X-Vault-Namespace": row.value], of: url)
        #expect(read.urls.map(\.url.path) == [row.second] && read.fields["X-Vault-Namespace"] == row.value)
      } catch {
        #expect(row.second == nil, "\(row) \(error)")
      }
    }
  }

  @Test("a field of the list is none for the configuration's allowedHeaders, or in two lists")
  func names() {
    #expect(SecondURLField.names.allSatisfy { SecondURLField.isOne($0) && HTTPFieldRules.canonical($0) == $0 })
    #expect(Set(SecondURLField.names).isDisjoint(with: HTTPFieldRules.overridingNames))
    for name in ["Depth", "Overwrite", "Link", "Location", "x-amz-meta-copy-source-x", "Content-Location", "Slug"] {
      #expect(!SecondURLField.isOne(name))
    }
  }
}
