import NIOHTTP1
import PosternJSON
import PosternSupport

/// The latest requests, for tests that compare their bytes.
final class AdobePassLog: Sendable {
  private struct State {
    var counts: [AdobePassCall: Int64] = [:]
    var entries: [JSONValue] = []
  }

  private static let limit = 256
  /// The most bytes of a body that are kept.
  private static let bodyBytes = 16 << 10

  private let state = Locked(State())

  /// The latest requests, the oldest first.
  var json: JSONValue { .array(state.withLock { $0.entries }) }

  /// The number of requests of each call, those that were throttled included.
  var counts: JSONValue {
    let counts = state.withLock { $0.counts }
    return .object(JSONObject(AdobePassCall.allCases.map { ($0.rawValue, .integer(counts[$0] ?? 0)) }))
  }

  /// Adds one. Of credentials there is a short digest.
  func note(_ request: Request, as call: AdobePassCall, device: String) {
    let resources = (try? JSONParser(maxDepth: 8).parse(request.body))?["resources"] ?? .null
    func field(_ name: String) -> JSONValue { request.headers.first(name: name).map(JSONValue.string) ?? .null }
    let names = AdobePassHeader.allCases.map(\.rawValue) + ["accept", "content-type", "user-agent"]
    var headers = JSONObject(
      names.compactMap { name in request.headers.first(name: name).map { (name, .string($0)) } })
    headers["authorization"] = request.headers.first(name: "authorization").map { .string(Fingerprint.of($0)) }
    let entry: JSONValue = [
      "call": .string(call.rawValue), "method": .string(request.method), "path": .string(request.path),
      "query": request.query.map(JSONValue.string) ?? .null, "device": .string(device),
      "identifier": field("ap-device-identifier"), "information": field("x-device-info"),
      "contentType": field("content-type"), "headers": .object(headers), "form": Self.form(request, call),
      "body": call == .token ? .null : .string(String(decoding: request.body.prefix(Self.bodyBytes), as: UTF8.self)),
      "resources": resources,
    ]
    state.withLock { state in
      state.counts[call, default: 0] += 1
      state.entries.append(entry)
      if state.entries.count > Self.limit { state.entries.removeFirst() }
    }
  }

  /// Forgets them.
  func clear() { state.withLock { $0 = State() } }

  private static func form(_ request: Request, _ call: AdobePassCall) -> JSONValue {
    guard call.content == .form, let form = FormParameters(parsing: request.body) else { return .null }
    return .object(
      JSONObject(
        form.all.map { ($0.name, .string($0.name == "client_secret" ? Fingerprint.of($0.value) : $0.value)) }))
  }
}
