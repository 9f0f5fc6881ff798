import AuthEngine
import HTTPMessages
import PosternJSONRPC
import PosternSupport
import Testing

@testable import SidecarGateway

/// A resource server for tables.
func resource(
  _ base: String = "https://api.test/v1/", _ authentication: ResourceServer.Authentication = .user,
  _ change: (inout ResourceServer) -> Void = { _ in }
) throws -> ResourceServer {
  var server = ResourceServer(
    name: "shop", baseURL: try HTTPURL(base), authentication: authentication, reservedCookies: ["iPlanetDirectoryPro"])
  change(&server)
  return server
}

@Suite("The fields of a program's request are for Postern, for the resource server, or dropped")
struct RequestFieldTests {
  /// Catches a session, an inbound token or a continuation that is ignored, and goes up instead.
  @Test("A field for Postern is not read, or is forwarded")
  func own() throws {
    let fields = try RequestFields([
      "Postern-Session": "s1", "postern-on-behalf-of": "token", "POSTERN-CONTINUATION": "c1", "traceparent": "00-1",
      "X-Own": "1",
    ])
    #expect(fields.session == "s1")
    #expect(fields.onBehalfOf == "token")
    #expect(fields.continuation == "c1")
    #expect(fields.traceparent == "00-1")
    #expect(fields.forwarded(to: try resource()) == ["X-Own": "1"])
  }

  static let rejected: [HTTPFields] = [
    ["Postern-Sesion": "s1"], ["Postern_Session": "s1"], ["postern-": "x"], ["Postern-On-Behalf-Of": ""],
    ["Postern-Session": "a", "postern-session": "a"], ["Postern-On-Behalf-Of": "a", "Postern-On-Behalf-Of": "b"],
    ["Postern-Continuation": "a", "X": "1", "Postern-Continuation": "a"],
  ]

  /// Catches a misspelt or doubled name by which another session would be used than the program meant.
  @Test("A field for Postern that it does not know, or knows twice, is let through", arguments: rejected)
  func isRejected(fields: HTTPFields) {
    #expect(throws: RPCFault(.invalidParams)) { try RequestFields(fields) }
  }

  static let dropped = [
    "Authorization", "authorization", "DPoP", "Host", "User-Agent", "Connection", "Keep-Alive", "TE", "Trailer",
    "Transfer-Encoding", "Upgrade", "Expect", "Content-Length", "Proxy-Authorization", "Proxy-Connection", "Proxy-X",
    "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X_Forwarded_Proto", "X-Forwarded-Anything", "X-Real-IP",
    "Cookie2", "traceparent", "X-Api-Key", "x_api_key",
  ]

  /// Catches a credential, a statement about the client, or a field of the hop that goes up.
  @Test("A field that no program may send goes to the resource server", arguments: dropped)
  func isDropped(name: String) throws {
    let server = try resource("https://api.test/", .credential) {
      $0.credential = try? StaticCredential(.header(name: "X-Api-Key", prefix: "")) { Secret("s") }
      $0.allowedHeaders = ["X-Forwarded-Host"]
    }
    let fields = try RequestFields([name: "1", "Accept": "*/*"])
    #expect(fields.forwarded(to: server) == ["Accept": "*/*"])
  }

  /// Catches a coding that hides advice from the sidecar, and a representation that is decoded for a program that asked
  /// for a coded one.
  @Test("A program cannot ask for codings, or asks where bodies have to be read")
  func codings() throws {
    let fields = try RequestFields(["Accept-Encoding": "gzip;q=1.0, br"])
    #expect(fields.forwarded(to: try resource()) == ["Accept-Encoding": "gzip;q=1.0, br"])
    let advised = try resource { $0.advice = AdviceRules(accessManager: try? HTTPURL("https://am.test/")) }
    #expect(fields.forwarded(to: advised) == [:])
  }

  /// Catches conditions, ranges and a program's own fields that are lost on the way.
  @Test("A field of the request itself is lost")
  func kept() throws {
    let given: HTTPFields = [
      "Accept": "text/event-stream", "Content-Type": "text/plain", "Range": "bytes=0-1", "If-None-Match": "\"a\"",
      "If-Range": "\"b\"", "X-Own": "1", "X-Own": "2", "Accept-Language": "de", "tracestate": "a=b",
      "Idempotency-Key": "7", "X-HTTP-Method-Override": "PUT",
    ]
    #expect(try RequestFields(given).forwarded(to: try resource()) == given)
  }

  static let cookies: [(String, String?)] = [
    ("a=1; b=2", "a=1; b=2"), ("iPlanetDirectoryPro=x", nil), ("IPLANETDIRECTORYPRO=x; a=1", "a=1"),
    ("a=1;iPlanetDirectoryPro=x;b=2", "a=1; b=2"), ("a=1,iPlanetDirectoryPro=x; b=2", "b=2"),
    ("a=iPlanetDirectoryPro", "a=iPlanetDirectoryPro"),
    ("a=1; iPlanetDirectoryPro", "a=1"), ("", nil),
  ]

  /// Catches a single sign-on cookie that goes up in some spelling, and other cookies that are lost with it.
  @Test("A reserved cookie goes up, or another one does not", arguments: cookies)
  func cookie(value: String, expected: String?) throws {
    let fields = try RequestFields(["Cookie": value]).forwarded(to: try resource())
    #expect(fields["Cookie"] == expected)
  }
}

@Suite("The fields of a response lead programs to the gateway")
struct ResponseFieldTests {
  private static func fields(
    _ fields: HTTPFields, at url: String = "https://api.test/v1/orders/7", from server: ResourceServer
  ) throws -> HTTPFields {
    ResponseFields(of: server).fields(of: HTTPResponseHead(status: 200, url: try HTTPURL(url), fields: fields))
  }

  static let addresses: [(base: String, reference: String, expected: String?)] = [
    // Below the base URL, in each form.
    ("https://api.test/v1/", "https://api.test/v1/orders/8", "/shop/orders/8"),
    ("https://api.test/v1/", "https://API.test:443/v1/x?a=%2F#top", "/shop/x?a=%2F#top"),
    ("https://api.test/v1/", "/v1/x", "/shop/x"), ("https://api.test/v1/", "//api.test/v1/x", "/shop/x"),
    ("https://api.test/v1/", "8", "/shop/orders/8"), ("https://api.test/v1/", "../x", "/shop/x"),
    ("https://api.test/v1/", "?page=2", "/shop/orders/7?page=2"), ("https://api.test/v1/", "/v1/", "/shop/"),
    ("https://api.test/v1/", "/v1", "/shop"), ("https://api.test/v1", "/v1", "/shop"),
    ("https://api.test/v1", "/v1/x", "/shop/x"), ("https://api.test/", "/", "/shop/"),
    ("https://api.test/", "/v1/x", "/shop/v1/x"), ("https://api.test/v1/", "/v1/gr%C3%BCn", "/shop/gr%C3%BCn"),
    ("https://api.test/v1/", "/v1/gr\u{FC}n", "/shop/gr%C3%BCn"), ("https://api.test/v1/", "/v1/a b", "/shop/a%20b"),
    // Elsewhere: as it is, or complete.
    ("https://api.test/v1/", "https://other.test/v1/x", "https://other.test/v1/x"),
    ("https://api.test/v1/", "http://api.test/v1/x", "http://api.test/v1/x"),
    ("https://api.test/v1/", "https://api.test/v10/x", "https://api.test/v10/x"),
    ("https://api.test/v1/", "/login?to=/v1/", "https://api.test/login?to=/v1/"),
    ("https://api.test/v1", "/v10", "https://api.test/v10"), ("https://api.test/v1/", "../../x", "https://api.test/x"),
    ("https://api.test/v1/", "/v1/../admin", "https://api.test/admin"),
    ("https://api.test/v1/", "//other.test/v1/x", "https://other.test/v1/x"),
    ("https://api.test/v1/", "myapp://done", "myapp://done"), ("https://api.test/v1/", "/v1/%zz", nil),
  ]

  /// Catches an address that leads a program around the gateway, or to another resource.
  @Test("An address leads elsewhere than the server meant", arguments: addresses)
  func address(base: String, reference: String, expected: String?) throws {
    let result = try Self.fields(
      ["Location": reference, "Content-Location": reference], from: try resource(base))
    #expect(result["Location"] == expected)
    #expect(result["Content-Location"] == expected)
  }

  /// Catches a redirect that a program cannot follow, because the server has copied the parameter of the credential.
  @Test("An address has the parameter of the resource's credential")
  func credential() throws {
    let server = try resource("https://api.test/v1/", .credential) {
      $0.credential = try? StaticCredential(.query(name: "key")) { Secret("s") }
    }
    let result = try Self.fields(["Location": "/v1/x?a=1&key=***&b=2", "Link": "</v1/y?key=***>"], from: server)
    #expect(result == ["Location": "/shop/x?a=1&b=2", "Link": "</shop/y>"])
  }

  static let links: [(String, String)] = [
    ("</v1/orders?page=2>; rel=\"next\"", "</shop/orders?page=2>; rel=\"next\""),
    (
      "<https://api.test/v1/a>; rel=next, <https://other.test/b>;rel=x",
      "</shop/a>; rel=next, <https://other.test/b>;rel=x"
    ),
    ("</v1/a>; title=\"see </v1/b>, \\\"<c>\\\"\"; rel=up", "</shop/a>; title=\"see </v1/b>, \\\"<c>\\\"\"; rel=up"),
    ("</v1/a", "</v1/a"), ("", ""),
  ]

  /// Catches pagination that leaves the gateway, and texts between quotation marks that are taken for targets.
  @Test("The targets of a link stay, or other parts of it change", arguments: links)
  func link(value: String, expected: String) throws {
    #expect(try Self.fields(["Link": value], from: try resource())["Link"] == expected)
  }

  /// Catches a field whose translation takes the square of its length, on a thread that serves all users: it took
  /// minutes.
  @Test("Starts of targets without an end are searched through more than once")
  func startsOfTargets() throws {
    let value = String(repeating: "<", count: 60_000)
    #expect(try Self.fields(["Link": value], from: try resource())["Link"] == value)
  }

  /// Catches a response of a few kilobytes that becomes one of many megabytes, and one that loses other fields for it.
  @Test("More addresses than a response may have are translated, or other fields are lost with them")
  func manyAddresses() throws {
    let links = { (count: Int) in Array(repeating: "</v1/a>", count: count).joined(separator: ",") }
    let result = try Self.fields(
      ["Link": links(98), "Location": "/v1/b", "Link2": links(2), "Content-Type": "text/plain"], from: try resource())
    #expect(result["Link"]?.hasPrefix("</shop/a>,") == true && result["Location"] == "/shop/b")
    #expect(result["Content-Type"] == "text/plain")
    for name in ["Link", "Location", "Content-Location", "Refresh"] {
      let value = name == "Refresh" ? "0; url=/v1/c" : name == "Link" ? links(1) : "/v1/c"
      var fields = HTTPFields()
      fields.append("Link", links(100))
      fields.append(name, value)
      fields.append("Content-Type", "text/plain")
      let result = try Self.fields(fields, from: try resource())
      #expect(result.lines.map(\.name) == ["Link", "Content-Type"])
    }
    #expect(try Self.fields(["Link": links(101), "ETag": "x"], from: try resource()).lines.map(\.name) == ["ETag"])
  }

  /// Catches a response whose few, long addresses take a quarter of a second.
  @Test("A response with more bytes of addresses than are translated loses other fields, or is translated")
  func longAddresses() throws {
    let long = "/v1/" + String(repeating: "\u{E9}", count: 7_000)
    var fields = HTTPFields()
    for _ in 0..<16 { fields.append("Link", "<\(long)>; rel=next") }
    for name in ["Location", "Content-Location", "Refresh"] {
      fields.append(name, name == "Refresh" ? "0;url=\(long)" : long)
    }
    fields.append("Set-Cookie", "a=b; Path=/v1/x; " + String(repeating: ";", count: 15_000))
    fields.append("X-Long", long)
    fields.append("ETag", "x")
    let result = try Self.fields(fields, from: try resource())
    // Four of 14 KB, and nothing beyond 64 KiB.
    #expect(result.lines.map(\.name) == ["Link", "Link", "Link", "Link", "X-Long", "ETag"])
    #expect(result.lines[0].value.hasPrefix("</shop/%C3%A9%C3%A9"))
    // The path of the request counts for each address that may be resolved against it.
    let path = "/v1/" + String(repeating: "a/", count: 10_000)
    let links = HTTPFields((0..<5).map { .init(name: "Link", value: "<x\($0)>") })
    let resolved = try Self.fields(links, at: "https://api.test\(path)", from: try resource())
    #expect(resolved.lines.count == 3 && resolved["Link"]?.hasSuffix("/a/x0>") == true)
    // One that is too long does not keep the rest of the response from the program.
    let tooLong = try Self.fields(
      ["Location": "/v1/" + String(repeating: "a", count: 70_000), "ETag": "x"], from: try resource())
    #expect(tooLong == ["ETag": "x"])
  }

  static let refreshes: [(String, String)] = [
    ("5", "5"), ("5; url=/v1/done", "5; url=/shop/done"), ("0;URL='https://api.test/v1/a'", "0; url=/shop/a"),
    ("3, url = \"https://other.test/\"", "3; url=https://other.test/"), ("5; text", "5; text"),
  ]

  /// Catches a reload of another page than the server meant.
  @Test("The address of a refresh is not the gateway's", arguments: refreshes)
  func refresh(value: String, expected: String) throws {
    #expect(try Self.fields(["Refresh": value], from: try resource())["Refresh"] == expected)
  }

  static let cookies: [(base: String, String, expected: String?)] = [
    ("https://api.test/v1/", "a=b", "a=b"),
    ("https://api.test/v1/", "a=b; HttpOnly; Max-Age=5", "a=b; HttpOnly; Max-Age=5"),
    ("https://api.test/v1/", "a=b; Domain=.test; Secure; SameSite=Lax", "a=b; SameSite=Lax"),
    ("https://api.test/v1/", "a=b; Path=/v1/cart; HttpOnly", "a=b; HttpOnly; Path=/shop/cart"),
    ("https://api.test/v1/", "a=b; path=/", "a=b; Path=/shop"),
    ("https://api.test/v1/", "a=b; Path=/v1", "a=b; Path=/shop"),
    ("https://api.test/v1/", "a=b; Path=/v1/", "a=b; Path=/shop"),
    ("https://api.test/", "a=b; Path=/x", "a=b; Path=/shop/x"),
    ("https://api.test/", "a=b; Path=/", "a=b; Path=/shop"),
    ("https://api.test/a/b/", "a=b; Path=/a", "a=b; Path=/shop"),
    ("https://api.test/v1/", "a=b; Path=relative", "a=b"), ("https://api.test/v1/", "a=b; Path=/v1; Path=/v2", nil),
    ("https://api.test/v1/", "a=b; Path=/v2", nil), ("https://api.test/v1/", "a=b; Path=/v10", nil),
    ("https://api.test/a/b/", "a=b; Path=/a/bc", nil), ("https://api.test/v1/", "iplanetdirectorypro=x; Path=/", nil),
    ("https://api.test/v1/", "novalue", nil),
    ("https://api.test/v1/", "__Host-a=b; Secure; Path=/", "__Host-a=b; Secure; Path=/shop"),
  ]

  /// Catches cookies that go to other resources, that no program would keep, or that are single sign-on's.
  @Test("A cookie reaches the wrong requests, or the wrong program", arguments: cookies)
  func cookie(base: String, value: String, expected: String?) throws {
    #expect(try Self.fields(["Set-Cookie": value], from: try resource(base))["Set-Cookie"] == expected)
  }

  /// Catches cookies that Postern keeps, and a program gets as well.
  @Test("A cookie that is kept here is handed out")
  func keptCookies() throws {
    let server = try resource { $0.cookies = CookiePolicy() }
    #expect(try Self.fields(["Set-Cookie": "a=b"], from: server) == [:])
  }

  /// Catches fields of the hop that reach the program, by name and as the server names them.
  @Test("A field of the hop to the server reaches the program")
  func hop() throws {
    let result = try Self.fields(
      [
        "Connection": "close, X-Hop", "X-Hop": "1", "Keep-Alive": "timeout=5", "Transfer-Encoding": "chunked",
        "Content-Length": "5", "Upgrade": "h2c", "Trailer": "X", "Proxy-Authenticate": "Basic", "Alt-Svc": "h3",
        "Strict-Transport-Security": "max-age=1", "Postern-Session": "x", "Set-Cookie2": "a=b", "ETag": "\"1\"",
        "Date": "now", "X": "1", "X": "2",
      ], from: try resource())
    #expect(result == ["ETag": "\"1\"", "Date": "now", "X": "1", "X": "2"])
  }

  /// Catches a challenge to Postern's credential that a program takes for one to its own.
  @Test("A challenge to Postern's token reaches the program", arguments: ResourceServer.Authentication.allCases)
  func challenges(authentication: ResourceServer.Authentication) throws {
    let challenge: HTTPFields = ["WWW-Authenticate": "Bearer", "DPoP-Nonce": "n", "Authentication-Info": "x"]
    let result = try Self.fields(challenge, from: try resource("https://api.test/", authentication))
    #expect(result == (authentication == .none ? challenge : [:]))
  }

  static let lengths: [(Int, HTTPFields, Int64?)] = [
    (200, ["Content-Length": "5"], 5), (200, [:], nil), (204, ["Content-Length": "0"], nil),
    (304, ["Content-Length": "5"], nil), (200, ["Content-Length": "5", "Transfer-Encoding": "chunked"], nil),
    (200, ["Content-Length": "5", "Content-Length": "5"], 5), (200, ["Content-Length": "-5"], nil),
    (200, ["Content-Length": "99999999999999999999"], nil),
  ]

  /// Catches a length that is not that of the bytes which follow.
  @Test("The length of a response is not its body's", arguments: lengths)
  func length(status: Int, fields: HTTPFields, expected: Int64?) throws {
    let head = HTTPResponseHead(status: status, url: try HTTPURL("https://api.test/"), fields: fields)
    #expect(ResponseFields.length(of: head) == expected)
  }
}
