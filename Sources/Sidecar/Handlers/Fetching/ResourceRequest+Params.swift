import AuthEngine
import HTTPMessages
import PosternJSONRPC
import PosternProtocol
import PosternSupport

extension ResourceRequest {
  /// No request has so many headers.
  private static let sortedHeaders = 1024

  /// The request of a `fetchResource` call.
  init(_ params: FetchResource.Params) throws(RPCFault) {
    let encoding: ParametersEncoding =
      switch params.parametersEncoding {
      case .formUrl: .formURL
      case .json, nil: .json
      }
    let body = try Self.content(params.body, params.bodyBase64, "body", at: "")
    var multipart: [MultipartPart]?
    if let parts = params.multipart {
      multipart = []
      for (index, part) in parts.enumerated() { multipart?.append(try Self.part(part, at: "/multipart/\(index)")) }
    }
    self.init(
      path: params.path ?? "", method: params.method ?? HTTPMethod.get.rawValue, parameters: params.parameters?.object,
      parametersEncoding: encoding, body: body, multipart: multipart,
      headers: params.headers.map(Self.fields) ?? HTTPFields())
  }

  private static func fields(_ headers: [String: HeaderValue]) -> HTTPFields {
    // More than may be sent are rejected later, in whatever order: sorting tens of thousands takes long.
    let names = headers.count <= sortedHeaders ? headers.keys.sorted() : Array(headers.keys)
    var fields = HTTPFields()
    for name in names {
      for value in headers[name]?.values ?? [] { fields.append(name, value) }
    }
    return fields
  }

  private static func part(_ part: FetchResource.Part, at path: String) throws(RPCFault) -> MultipartPart {
    guard let data = try content(part.data, part.dataBase64, "data", at: path) else {
      throw .invalidParams("one of data and dataBase64 is needed", path: "\(path)/data")
    }
    return MultipartPart(name: part.name, fileName: part.fileName, mimeType: part.mimeType, data: data)
  }

  /// Content as text or as base64: at most one of the two.
  private static func content(
    _ text: BodyText?, _ encoded: String?, _ name: String, at path: String
  ) throws(RPCFault) -> [UInt8]? {
    guard let encoded else { return text.map { Array($0.text.utf8) } }
    let path = "\(path)/\(name)Base64"
    guard text == nil else { throw .invalidParams("At most one of \(name) and \(name)Base64", path: path) }
    guard let bytes = Base64.decode(encoded) else {
      throw .invalidParams("\(name)Base64 must be standard base64 with padding", path: path)
    }
    return bytes
  }
}

extension FetchResource.Params {
  /// Releases the content that the request has a copy of, before it is sent.
  mutating func dropContent() {
    body = nil
    bodyBase64 = nil
    multipart = nil
    parameters = nil
  }
}

extension ResourceServer.Authentication {
  /// A call's `auth`, an enumeration of its own because the wire also accepts `device`, the former name of
  /// `clientCredentials`. A case that only one side has does not compile, instead of becoming a fetch without a token.
  init(_ given: FetchResource.Authentication) {
    self =
      switch given {
      case .user: .user
      case .implicit: .implicit
      case .clientCredentials: .clientCredentials
      case .credential: .credential
      case .onBehalfOf: .onBehalfOf
      case .none: .none
      }
  }
}
