public import HTTPMessages
public import PosternJSON
public import PosternSupport

/// A request for a resource: an immutable value. `ResourceRequestFactory` and `ResourceRequestBuilder` make one part by
/// part.
///
/// Nothing is checked here: `ResourceFetcher` does, against the resource server it goes to.
public struct ResourceRequest: Sendable {
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
