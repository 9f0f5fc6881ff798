import AuthEngine
import HTTPMessages
import PosternJSONRPC
import PosternSupport

/// The fields of a program's request: those that are for Postern, and the others.
struct RequestFields {
  /// The handle of a session (`Postern-Session`).
  private(set) var session: String?
  /// An inbound token (`Postern-On-Behalf-Of`).
  private(set) var onBehalfOf: String?
  /// The continuation of a suspended request (`Postern-Continuation`).
  private(set) var continuation: String?
  /// The position in the program's trace (`traceparent`).
  private(set) var traceparent: String?
  /// The fields for the resource server, before its rules.
  private var others = HTTPFields()

  /// Takes the fields apart. A name of Postern's that it does not know is an error: a misspelt one would use another
  /// session than the program meant.
  init(_ fields: HTTPFields) throws(RPCFault) {
    for line in fields.lines {
      switch line.name.lowercasedASCII() {
      // An empty one is a user who is not logged in.
      case "postern-session": try Self.set(&session, line, mayBeEmpty: true)
      case "postern-on-behalf-of": try Self.set(&onBehalfOf, line)
      case "postern-continuation": try Self.set(&continuation, line)
      case "traceparent": traceparent = traceparent ?? line.value
      default:
        guard !HTTPFieldRules.canonical(line.name).startsWithBytes(of: "postern-") else {
          throw Self.fault("No such field for Postern", line)
        }
        others.append(line.name, line.value)
      }
    }
  }

  private static func set(
    _ value: inout String?, _ line: HTTPFields.Field, mayBeEmpty: Bool = false
  ) throws(RPCFault) {
    guard value == nil else { throw fault("The field is given twice", line) }
    guard mayBeEmpty || !line.value.isEmpty else { throw fault("The field is empty", line) }
    value = line.value
  }

  private static func fault(_ message: String, _ line: HTTPFields.Field) -> RPCFault {
    .invalidParams(message, path: "/headers/\(String(decoding: line.name.utf8.prefix(256), as: UTF8.self))")
  }

  /// The fields that are shown to whom the request is put: those that name other resources, and the media type.
  var shown: HTTPFields {
    HTTPFields(
      others.lines.filter { line in
        let canonical = HTTPFieldRules.canonical(line.name)
        return Self.mayBeSent(canonical) && (SecondURLField.isOne(line.name) || canonical == "content-type")
      })
  }

  /// Whether a field names another resource.
  var namesSecondURL: Bool { others.lines.contains { SecondURLField.isOne($0.name) } }

  /// The fields that go to `server`: without those that programs send by themselves and that no caller may send. What
  /// is left is checked as the headers of `fetchResource` are.
  func forwarded(to server: ResourceServer) -> HTTPFields {
    let reserved = ReservedCookies(server.reservedCookies)
    var result = HTTPFields()
    for line in others.lines {
      let canonical = HTTPFieldRules.canonical(line.name)
      guard Self.mayBeSent(canonical), canonical != "accept-encoding" || server.mayBeCoded,
        server.credential?.isNamed(line.name) != true
      else { continue }
      let value = canonical == "cookie" ? reserved.removed(from: line.value) : line.value
      if let value { result.append(line.name, value) }
    }
    return result
  }

  /// Whether a field is not left out whatever the resource server.
  private static func mayBeSent(_ canonical: String) -> Bool {
    !HTTPFieldRules.isReserved(canonical: canonical) && !hops.contains(canonical)
      && !canonical.startsWithBytes(of: "x-forwarded-")
  }

  /// Fields by which proxies state who their client is.
  private static let hops: Set<String> = ["cookie2", "forwarded", "x-real-ip"]
}
