import NIOHTTP1
import PosternJSON
import PosternSupport

/// The client, device and service provider that a profile or a code is bound to: changing one of them loses it.
struct AdobePassBinding: Sendable, Hashable {
  let client: String
  let device: String
  let serviceProvider: String
}

/// The users that a request's tokens name.
struct AdobePassSubjects: Sendable, Equatable {
  /// The user of the platform's token.
  var platform: String?
  /// The user of the service token.
  var service: String?
}

/// A request whose headers and parameters are those that its call takes.
struct AdobePassRequest: Sendable {
  let call: AdobePassCall
  let binding: AdobePassBinding
  /// The other parts of the path.
  let captures: [String: String]
  /// The parameters of form or query.
  let parameters: [String: String]
  /// The resources of the body.
  let resources: [String]
  /// The description of the device, as it sent it.
  let information: JSONObject
  /// The address of the device, where it was given.
  let address: String?
  let subjects: AdobePassSubjects
  /// The partner's status, where it was given.
  let partner: AdobePassPartnerStatus?
  /// The identity for a promotional TempPass, as its JSON.
  let identity: String?

  /// Checks `request` of the client `client`.
  init(_ request: Request, as call: AdobePassCall, of client: String) throws(AdobePassError) {
    self.call = call
    captures = request.captures
    let headers = try AdobePassHeaderReading(request, call)
    binding = AdobePassBinding(
      client: client, device: try headers.device(), serviceProvider: captures["serviceProvider"] ?? "")
    information = try headers.information()
    address = try headers.address()
    try headers.rejectOthers()
    subjects = AdobePassSubjects(platform: try headers.platformSubject(), service: try headers.serviceSubject())
    partner = try headers.value(.partner).map(AdobePassPartnerStatus.init)
    identity = try headers.identity()
    (parameters, resources) = try Self.content(of: request, call)
  }

  /// The MVPD of the path.
  var mvpd: String { captures["mvpd"] ?? "" }

  private static func content(
    of request: Request, _ call: AdobePassCall
  ) throws(AdobePassError) -> ([String: String], [String]) {
    guard call.content == .none || request.query == nil else { throw AdobePassError("invalid_parameter_value") }
    switch call.content {
    case .none:
      guard request.body.isEmpty else { throw AdobePassError("bad_request") }
      return (try values(of: request.queryParameters, call), [])
    case .form:
      guard request.mediaType == "application/x-www-form-urlencoded" else { throw AdobePassError("invalid_header") }
      return (try values(of: FormParameters(parsing: request.body), call), [])
    case .json:
      guard request.mediaType == "application/json" else { throw AdobePassError("invalid_header") }
      return ([:], try resources(in: request.body))
    }
  }

  private static func values(
    of form: FormParameters?, _ call: AdobePassCall
  ) throws(AdobePassError) -> [String: String] {
    guard let form, !form.repeats(except: []), form.all.allSatisfy({ call.parameters.contains($0.name) }) else {
      throw AdobePassError("invalid_parameter_value")
    }
    return Dictionary(form.all.filter { !$0.value.isEmpty }.map { ($0.name, $0.value) }) { $1 }
  }

  private static func resources(in body: [UInt8]) throws(AdobePassError) -> [String] {
    guard let body = (try? JSONParser(maxDepth: 4).parse(body))?.objectValue, body.names == ["resources"],
      let given = body["resources"]?.arrayValue, !given.isEmpty
    else { throw AdobePassError("invalid_parameter_resources") }
    let resources = given.compactMap(\.stringValue)
    guard resources.count == given.count, !resources.contains("") else {
      throw AdobePassError("invalid_parameter_resources")
    }
    return resources
  }
}
