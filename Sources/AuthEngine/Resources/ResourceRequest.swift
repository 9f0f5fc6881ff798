public import HTTPMessages
public import JSON

/// What to fetch. Nothing is checked here: `ResourceFetcher` does, against the resource server it goes to.
public struct ResourceRequest: Sendable {
  /// A path behind the resource's base URL, or an absolute URL it allows.
  public var path: String
  /// The method in any case.
  public var method: String
  /// GET, HEAD and DELETE send them in the query, the others in the body.
  public var parameters: JSONObject?
  /// How parameters become a body.
  public var parametersEncoding: ParametersEncoding
  /// A raw body; overrides `parameters`, and implies no `Content-Type`.
  public var body: [UInt8]?
  /// Files and fields of a `multipart/form-data` body, behind `parameters` as plain fields; with POST only. Empty for none.
  public var multipart: [MultipartPart]
  /// Additional header fields.
  public var headers: HTTPFields

  /// A request; GET by default.
  public init(
    path: String,
    method: String = "GET",
    parameters: JSONObject? = nil,
    parametersEncoding: ParametersEncoding = .json,
    body: [UInt8]? = nil,
    multipart: [MultipartPart] = [],
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
