public import HTTPMessages
public import PosternJSON
public import PosternSupport

/// A request for a resource, or a value of which one is made when it is sent: `ResourceRequest` and
/// `MutableResourceRequest`.
public protocol ResourceRequestConvertible: Sendable {
  /// The request as it is now.
  var resourceRequest: ResourceRequest { get }
}

/// A request for a resource: an immutable value. `ResourceRequestFactory` makes one in one call,
/// `MutableResourceRequest` part by part.
///
/// Nothing is checked here: `ResourceFetcher` does, against the resource server it goes to.
public struct ResourceRequest: Sendable, ResourceRequestConvertible {
  /// A path behind the resource's base URL, or an absolute URL it allows.
  public let path: String
  /// The method in any case.
  public let method: String
  /// GET, HEAD and DELETE send them in the query, the others in the body.
  public let parameters: JSONObject?
  /// How parameters become a body.
  public let parametersEncoding: ParametersEncoding
  /// A raw body; overrides `parameters`, and implies no `Content-Type`.
  public let body: [UInt8]?
  /// Files and fields of a `multipart/form-data` body, behind `parameters` as plain fields; at least one, with POST
  /// only, and without `body`. Nil for none.
  public let multipart: [MultipartPart]?
  /// Additional header fields.
  public let headers: HTTPFields

  /// A request; GET by default.
  public init(
    path: String,
    method: String = "GET",
    parameters: JSONObject? = nil,
    parametersEncoding: ParametersEncoding = .json,
    body: [UInt8]? = nil,
    multipart: [MultipartPart]? = nil,
    headers: HTTPFields = HTTPFields()
  ) {
    self.path = path
    self.method = method
    self.parameters = parameters
    self.parametersEncoding = parametersEncoding
    self.body = body
    self.multipart = multipart
    self.headers = headers
  }

  /// The request itself.
  public var resourceRequest: ResourceRequest { self }
}

/// How parameters become a body.
public enum ParametersEncoding: String, Sendable, Hashable, CaseIterable {
  /// `application/json`.
  case json
  /// `application/x-www-form-urlencoded`.
  case formURL = "formUrl"
}

extension ResourceRequest: ConciseStringConvertible {
  /// Method and path without a query, sizes and names: never values.
  public var description: String {
    let shown = path.prefix(beforeBytes: "?", "#")
    return Concise.text(
      "\(Concise.name(method)) \(Concise.name(String(shown)))\(shown.utf8.count < path.utf8.count ? "?…" : "")",
      parameters.map { Concise.list($0.names, of: "parameter") }, body.map { Concise.count($0.count, "byte") },
      multipart.map { Concise.count($0.count, "part") }, headers.lines.isEmpty ? nil : "\(headers)")
  }
}
