import HTTPMessages
import JSON

/// A call's request, checked against its resource server and ready to be sent but for `Authorization`.
struct PreparedRequest {
  let method: HTTPMethod
  let message: HTTPRequest

  /// The longest query that parameters may make; servers accept less.
  private static let maxQueryBytes = 64 << 10
  /// The longest form that parameters may make: what a message may hold.
  private static let maxFormBytes = 16 << 20

  init(_ request: ResourceRequest, to server: ResourceServer, trace: TraceContext?) throws(ResourceError) {
    method = try HTTPMethod(named: request.method)
    var fields = try HeaderRules(reservedCookies: server.reservedCookies).checked(request.headers)
    var url = try server.url(forPath: request.path)
    var body = request.body
    if body == nil, let parameters = request.parameters {
      if method.takesParametersInQuery {
        let query = try Self.encoded(parameters, limit: Self.maxQueryBytes)
        do throws(HTTPURLError) {
          url = try url.addingQuery(query)
        } catch {
          throw ResourceError(.invalidURL, "with its parameters the URL \(error)", path: "/parameters")
        }
      } else {
        let (content, type) = try Self.content(parameters, encoding: request.parametersEncoding)
        body = content
        if fields["Content-Type"] == nil { fields["Content-Type"] = type }
      }
    }
    trace?.add(to: &fields)
    message = HTTPRequest(method: method.rawValue, url: url, fields: fields, body: body)
  }

  private static func content(
    _ parameters: JSONObject, encoding: ParametersEncoding
  ) throws(ResourceError) -> ([UInt8], type: String) {
    switch encoding {
    case .json: (JSONWriter().write(.object(parameters)), "application/json")
    case .formURL: (Array(try encoded(parameters, limit: maxFormBytes).utf8), FormEncoding.mediaType)
    }
  }

  private static func encoded(_ parameters: JSONObject, limit: Int) throws(ResourceError) -> String {
    do throws(ParameterEncoder.TooLarge) {
      return try ParameterEncoder.encode(parameters, limit: limit)
    } catch {
      throw ResourceError(
        .invalidURL, "the parameters take more than \(error.limit) bytes when they are encoded", path: "/parameters")
    }
  }
}
