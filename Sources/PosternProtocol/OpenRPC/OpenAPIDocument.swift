public import PosternJSON
import PosternJSONRPC
import PosternSupport

/// The OpenAPI 3.1 document (https://spec.openapis.org/oas/v3.1.0) of what is reached over HTTP, generated from the
/// method types: messages of JSON-RPC at `/rpc`, and the gateway.
public enum OpenAPIDocument {
  /// The document for `methods`, those that are of use over HTTP. It depends on nothing but the code.
  public static func document(methods: [MethodDescription], version: String) -> JSONValue {
    let methods = methods.filter { !$0.isNotification && !$0.needsConnection }
    return [
      "openapi": "3.1.0",
      "info": [
        "title": "Postern over HTTP",
        "version": .string(version),
        "description":
          "JSON-RPC 2.0 at /rpc, and requests to resources through the gateway. The socket, the rules and the errors: proto-docs/wire.md and proto-docs/gateway.md.",
        "license": ["name": "Apache-2.0", "identifier": "Apache-2.0"],
      ],
      "servers": [
        ["url": "http://postern", "description": "A Unix socket: the host's name has no meaning"],
        [
          "url": "http://127.0.0.1:{port}", "description": "The gateway's loopback address, with its key",
          "variables": ["port": ["default": "8080", "description": "That of gateway.listen.address"]],
        ],
      ],
      "security": [[:], ["key": []]],
      "tags": [
        ["name": "JSON-RPC", "description": "The methods"],
        ["name": "Gateway", "description": "Requests to resources, and what fronts and issuers send"],
      ],
      "paths": .object(paths(methods)),
      "components": [
        "securitySchemes": [
          "key": [
            "type": "apiKey", "in": "header", "name": "Postern-Key",
            "description": "The key of gateway.listen; on a Unix socket the kernel says who calls",
          ]
        ],
        "schemas": .object(schemas(methods)),
        "responses": [
          "Problem": [
            "description": "An error of Postern's own (RFC 9457)",
            "content": ["application/problem+json": ["schema": reference("Problem")]],
          ]
        ],
        "parameters": .object(parameters),
      ],
    ]
  }

  private static func reference(_ schema: String) -> JSONValue { ["$ref": .string("#/components/schemas/\(schema)")] }

  /// Bytes of any media type.
  private static let anything: JSONValue = [
    "application/octet-stream": ["schema": ["type": "string", "format": "binary"]]
  ]

  private static func parameter(_ name: String) -> JSONValue { ["$ref": .string("#/components/parameters/\(name)")] }

  private static let problem: JSONValue = ["$ref": "#/components/responses/Problem"]

  /// The name of a method in names of schemas.
  private static func title(_ method: MethodDescription) -> String {
    let parts = method.name.split(atByte: ".").map(String.init)
    return parts.map { String($0.prefix(1)).uppercasedASCII() + $0.dropFirst() }.joined()
  }

  // MARK: - Paths

  private static func paths(_ methods: [MethodDescription]) -> JSONObject {
    var paths: JSONObject = [
      "/rpc": [
        "post": [
          "operationId": "call", "tags": ["JSON-RPC"],
          "summary": "Carries out one call, or the calls of a batch",
          "description":
            "The error of a call is part of its response, whose status is 200. There are no events, delegates or streams over HTTP.",
          "requestBody": [
            "required": true, "content": ["application/json": ["schema": reference("Message")]],
          ],
          "responses": [
            "200": [
              "description": "The response, or those of the batch's calls that have an id, in their order",
              "content": ["application/json": ["schema": reference("Answer")]],
            ],
            "204": ["description": "Notifications only: there is no response"],
            "default": problem,
          ],
        ]
      ]
    ]
    if let health = methods.first(where: { $0.name == "health" }) {
      let report: JSONValue = ["application/json": ["schema": reference("\(title(health))Result")]]
      paths["/health"] = [
        "get": [
          "operationId": "readHealth", "tags": ["JSON-RPC"], "summary": .string(health.summary),
          "description": "On the socket of JSON-RPC only",
          "responses": [
            "200": ["description": "It serves", "content": report],
            "503": ["description": "It is down", "content": report], "default": problem,
          ],
        ]
      ]
      paths["/metrics"] = [
        "get": [
          "operationId": "readMetrics", "tags": ["JSON-RPC"], "summary": "The metrics in Prometheus' text format",
          "description": "On the socket of JSON-RPC only",
          "responses": [
            "200": ["description": "The metrics", "content": ["text/plain": ["schema": ["type": "string"]]]],
            "default": problem,
          ],
        ]
      ]
    }
    paths["/{resource}/{path}"] = .object(resource)
    paths["/.postern/auth/{api}"] = [
      "get": [
        "operationId": "authorizeRequest", "tags": ["Gateway"],
        "summary": "Forward authentication: whether a front may pass its client's request on",
        "parameters": [parameter("Api")],
        "responses": [
          "200": ["description": "It may, with the identity in fields"],
          "401": ["description": "The token is not valid"],
          "403": ["description": "The token does not suffice"], "default": problem,
        ],
      ]
    ]
    paths["/.postern/backchannel-logout/{issuer}"] = [
      "post": [
        "operationId": "endSessions", "tags": ["Gateway"],
        "summary": "Takes a logout token of an issuer (OpenID Connect Back-Channel Logout 1.0)",
        "parameters": [parameter("Issuer")],
        "requestBody": [
          "required": true,
          "content": [
            "application/x-www-form-urlencoded": [
              "schema": [
                "type": "object", "properties": ["logout_token": ["type": "string"]], "required": ["logout_token"],
              ]
            ]
          ],
        ],
        "responses": [
          "200": ["description": "The sessions have ended"], "400": ["description": "The token is not valid"],
          "default": problem,
        ],
      ]
    ]
    return paths
  }

  /// A request to a resource, by each of HTTP's usual methods.
  private static var resource: JSONObject {
    var item: JSONObject = [
      "summary": "A request to a resource",
      "description":
        "`path` may have slashes, and the request a query; both go below the resource's base URL, and the server's response comes back.",
      "parameters": .array(["Resource", "Path", "Session", "OnBehalfOf", "Continuation"].map(parameter)),
    ]
    for method in ["get", "head", "post", "put", "patch", "delete", "options"] {
      var operation: JSONObject = ["operationId": .string("\(method)Resource"), "tags": ["Gateway"]]
      if ["post", "put", "patch"].contains(method) { operation["requestBody"] = ["content": anything] }
      operation["responses"] = [
        "200": ["description": "The server's response, whatever its status", "content": anything],
        "default": problem,
      ]
      item[method] = .object(operation)
    }
    return item
  }

  private static var parameters: JSONObject {
    func parameter(_ name: String, in place: String, _ description: String) -> JSONValue {
      [
        "name": .string(name), "in": .string(place), "description": .string(description),
        "required": .bool(place == "path"), "schema": ["type": "string"],
      ]
    }
    return [
      "Resource": parameter("resource", in: "path", "A name below resources in the configuration"),
      "Path": parameter("path", in: "path", "The path below the resource's base URL"),
      "Api": parameter("api", in: "path", "A name below gateway.protect in the configuration"),
      "Issuer": parameter("issuer", in: "path", "A name below issuers in the configuration"),
      "Session": parameter(
        "Postern-Session", in: "header", "The handle of the user's session; empty: a user who is not logged in"),
      "OnBehalfOf": parameter("Postern-On-Behalf-Of", in: "header", "The inbound token of the user, with onBehalfOf"),
      "Continuation": parameter(
        "Postern-Continuation", in: "header", "The continuation of a request that was suspended at an advice"),
    ]
  }

  // MARK: - Schemas

  private static func schemas(_ methods: [MethodDescription]) -> JSONObject {
    let reasons = Set((ErrorCode.common + methods.flatMap(\.errors)).map(\.reason)).sorted()
    var schemas: JSONObject = [
      "Id": ["type": ["string", "integer"], "description": "Any value that tells responses apart"],
      "Meta": SchemaRecorder.schema(of: CallMeta.self),
      "CallError": [
        "type": "object", "required": ["code", "message"],
        "properties": [
          "code": ["type": "integer"], "message": ["type": "string"],
          "data": [
            "type": "object", "additionalProperties": true,
            "properties": [
              "reason": ["type": "string", "enum": .array(reasons.map { .string($0) })],
              "outcome": ["type": "string", "enum": ["not_sent", "sent_no_reply", "replied"]],
              "retryable": ["type": "boolean"],
            ],
          ],
        ],
      ],
      "CallResponse": [
        "type": "object", "required": ["jsonrpc", "id"],
        "properties": [
          "jsonrpc": ["type": "string", "const": "2.0"], "id": ["type": ["string", "integer", "null"]],
          "result": ["description": "The method's result: the schema METHODResult"], "error": reference("CallError"),
        ],
      ],
      "Answer": ["oneOf": [reference("CallResponse"), ["type": "array", "items": reference("CallResponse")]]],
      "Message": ["oneOf": [reference("Call"), ["type": "array", "items": reference("Call"), "minItems": 1]]],
      "Call": [
        "oneOf": .array(methods.map { reference("\(title($0))Call") }),
        "discriminator": [
          "propertyName": "method",
          "mapping": .object(
            JSONObject(methods.map { ($0.name, .string("#/components/schemas/\(title($0))Call")) })),
        ],
      ],
      "Problem": [
        "type": "object", "required": ["type", "title", "status", "detail"], "additionalProperties": true,
        "properties": [
          "type": ["type": "string"], "title": ["type": "string"], "status": ["type": "integer"],
          "detail": ["type": "string"], "code": ["type": "integer"], "reason": ["type": "string"],
          "outcome": ["type": "string"], "retryable": ["type": "boolean"], "traceId": ["type": "string"],
        ],
      ],
    ]
    for method in methods {
      schemas["\(title(method))Params"] = .object(params(of: method))
      schemas["\(title(method))Result"] = method.resultSchema
      schemas["\(title(method))Call"] = .object(call(of: method))
    }
    return schemas
  }

  private static func params(of method: MethodDescription) -> JSONObject {
    var properties = JSONObject()
    for param in method.params {
      // Beside a reference nothing else is read by older tools.
      if var schema = param.schema.objectValue, schema["$ref"] == nil {
        schema["description"] = .string(param.summary)
        properties[param.name] = .object(schema)
      } else {
        properties[param.name] = param.schema
      }
    }
    properties["meta"] = reference("Meta")
    var object: JSONObject = [
      "type": "object", "properties": .object(properties), "additionalProperties": false,
    ]
    let required = method.params.filter(\.isRequired).map { JSONValue.string($0.name) }
    if !required.isEmpty { object["required"] = .array(required) }
    return object
  }

  private static func call(of method: MethodDescription) -> JSONObject {
    let needsParams = method.params.contains(where: \.isRequired)
    return [
      "type": "object", "title": .string("\(title(method))Call"), "description": .string(method.summary),
      "required": .array(["jsonrpc", "method"] + (needsParams ? ["params"] : [])),
      "properties": [
        "jsonrpc": ["type": "string", "const": "2.0"], "id": reference("Id"),
        "method": ["type": "string", "const": .string(method.name)],
        "params": reference("\(title(method))Params"),
      ],
    ]
  }
}
