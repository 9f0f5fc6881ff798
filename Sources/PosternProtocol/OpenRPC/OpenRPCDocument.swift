public import PosternJSON
import PosternJSONRPC
import PosternSupport

/// The OpenRPC 1.3 document (https://spec.open-rpc.org), generated from the method types.
public enum OpenRPCDocument {
  /// The document for `methods`. It depends on nothing but the code, so that CI can compare it with the committed one.
  public static func document(methods: [MethodDescription], version: String) -> JSONValue {
    [
      "openrpc": "1.3.2",
      "info": [
        "title": "Postern",
        "version": .string(version),
        "description":
          "The auth sidecar's methods. Framing, limits and error rules: proto-docs/wire.md. Every error's data holds a stable reason.",
        "license": ["name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"],
      ],
      "servers": [
        [
          "name": "unix socket",
          "url": "unix:///run/postern/postern.sock",
          "summary": "A stream socket; one JSON text after another, or Content-Length headers as in LSP.",
        ]
      ],
      "methods": .array(methods.map(method)),
      "components": ["schemas": ["Meta": SchemaRecorder.schema(of: CallMeta.self)]],
    ]
  }

  private static func method(_ method: MethodDescription) -> JSONValue {
    var object: JSONObject = ["name": .string(method.name), "summary": .string(method.summary)]
    if !method.explanation.isEmpty { object["description"] = .string(method.explanation) }
    object["paramStructure"] = "by-name"
    object["params"] = .array(method.params.map(param) + (method.isNotification ? [] : [meta]))
    guard !method.isNotification else { return .object(object) }
    object["result"] = [
      "name": .string("\(method.name)Result"),
      "summary": .string(method.resultSummary),
      "schema": method.resultSchema,
    ]
    object["errors"] = .array((ErrorCode.common + method.errors).map(error))
    return .object(object)
  }

  private static func param(_ param: MethodDescription.Param) -> JSONValue {
    [
      "name": .string(param.name),
      "summary": .string(param.summary),
      "required": .bool(param.isRequired),
      "schema": param.schema,
    ]
  }

  private static var meta: JSONValue {
    [
      "name": "meta",
      "summary": "Trace context and a time bound for the whole call; every method takes it",
      "required": false,
      "schema": ["$ref": "#/components/schemas/Meta"],
    ]
  }

  private static func error(_ code: ErrorCode) -> JSONValue {
    [
      "code": .integer(Int64(code.number)),
      "message": .string(code.summary),
      "data": ["reason": .string(code.reason)],
    ]
  }
}
