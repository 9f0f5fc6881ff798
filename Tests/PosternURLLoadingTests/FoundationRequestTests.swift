import AuthEngine
import Foundation
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import PosternURLLoading
import Testing

/// The SDKs' requests with Foundation's values, and doubles of their clients.
@Suite struct FoundationRequestTests {
  private let parameters: [String: Any] = ["name": "Ä", "count": 3, "on": true, "rest": [1.5, NSNull()] as [Any]]
  private let json: JSONObject = ["name": "Ä", "count": 3, "on": true, "rest": [1.5, .null]]

  @Test("the documented calls with Foundation's values do not compile, or send something else")
  func factory() throws {
    let (body, headers) = (Data("body".utf8), ["X-B": "2", "X-A": "1"])
    let first = try ResourceRequestFactory.makeResourceRequest(
      path: "a", method: .post, parameters: parameters, body: nil, headers: headers, parametersEncoding: .JSON)
    #expect(first.parameters == json && first.body == nil && first.parametersEncoding == .json)
    #expect(first.headers == ["X-A": "1", "X-B": "2"])
    let second = ResourceRequestFactory.makeResourceRequest(path: "a", method: .put, body: body, headers: nil)
    #expect(second.body == Array(body) && second.headers.lines.isEmpty && second.parameters == nil)
    let third = ResourceRequestFactory.makeResourceRequest(path: "a", parameters: nil, body: nil, headers: nil)
    #expect(third.method == "GET" && third.parameters == nil)
    let file = MultipartData(name: "f", fileName: "f.txt", mimeType: "text/plain", data: body)
    let multipart = try ResourceRequestFactory.makeMultipartResourceRequest(
      path: "a", method: .post, parameters: parameters, multipartData: [file])
    #expect(multipart.multipart?.first?.data == Array(body) && multipart.parameters == json)
    let built = try ResourceRequestBuilder().setPath("a").setParameters(parameters).setBody(body).setHeaders(headers)
      .build()
    #expect(built.parameters == json && built.body == Array(body) && built.headers["X-B"] == "2")
  }

  @Test("a value that JSON does not have is left out, or ends the program")
  func noJSON() {
    for value in [Date(), Data(), Double.nan, ["deep": URL(fileURLWithPath: "/")]] as [Any] {
      let error = #expect(throws: JSONDecodingError.self) {
        try ResourceRequestFactory.makeResourceRequest(path: "a", parameters: ["value": value])
      }
      #expect(error?.localizedDescription.contains("JSON") == true)
    }
  }

  /// A double of both clients.
  private struct ClientDouble: UserRequestSending, DeviceRequestSending {
    let result: Result<ResourceResponse, ResourceError>

    func sendAuthenticatedRequest(
      _ request: some ResourceRequestConvertible, options: FetchOptions
    ) async throws(ResourceError) -> ResourceResponse { try result.get() }

    func sendImplicitRequest(
      _ request: some ResourceRequestConvertible, options: FetchOptions
    ) async throws(ResourceError) -> ResourceResponse { try result.get() }

    func sendUnauthenticatedRequest(
      _ request: some ResourceRequestConvertible, options: FetchOptions
    ) async throws(ResourceError) -> ResourceResponse { try result.get() }
  }

  /// A double of the validation of ID tokens.
  private struct Validation: IDTokenValidating {
    var error: IDTokenValidationError?

    func validate(
      idTokenString: String?, authorizationCode: String?, clientId: String, nonce: String, jwksUrl: HTTPURL,
      config: IDTokenConfiguration
    ) async throws(IDTokenValidationError) -> JSONObject {
      if let error { throw error }
      return JSONObject()
    }
  }

  @Test("the documented validation with URL and NSError does not compile, or loses the reason")
  func validation() async throws {
    func outcome(_ error: IDTokenValidationError?, _ url: String = "https://idp.test/jwks") async throws -> String {
      let manager: any IValidationManager = Validation(error: error)
      var reason: NSError? = NSError(domain: "before", code: 7)
      let isValid = await manager.validate(
        idTokenString: "a.b.c", authorizationCode: nil, clientId: "shop", nonce: "n",
        jwksUrl: try #require(URL(string: url)), config: IDTokenConfiguration(issuer: "https://idp.test"),
        error: &reason)
      return "\(isValid) \(reason?.localizedDescription ?? "")"
    }
    #expect(try await outcome(nil) == "true ")
    #expect(try await outcome(.invalid(TokenFault(.audMismatch, "words"))) == "false words")
    #expect(try await outcome(nil, "file:///etc/passwd").hasPrefix("false the URL"))
  }

  @Test("a double of a client does not answer in one of the forms, or its task never ends", arguments: [true, false])
  func doubles(succeeds: Bool) async throws {
    let url = try HTTPURL("https://api.test/a")
    let double = ClientDouble(
      result: succeeds
        ? .success(ResourceResponse(status: 201, url: url, body: [1]))
        : .failure(ResourceError(.notAuthenticated, "no")))
    let (user, device): (any UserRequestSending, any DeviceRequestSending) = (double, double)
    let request = ResourceRequest(path: "a")
    let ends = Locked<[String]>([])
    let tasks = [
      user.sendAuthenticatedRequest(request) { response, error in
        ends.withLock { $0.append("\(response?.status ?? 0) \(error?.code.number ?? 0)") }
      },
      user.sendImplicitRequest(request) { response, error in
        ends.withLock { $0.append("\(response?.status ?? 0) \(error?.code.number ?? 0)") }
      },
      device.sendAuthenticatedRequest(request) { result in
        ends.withLock { $0.append((try? result.get()).map { "\($0.status) 0" } ?? "0 1001") }
      },
      device.sendUnauthenticatedRequest(request) { response, error in
        ends.withLock { $0.append("\(response?.status ?? 0) \(error?.code.number ?? 0)") }
      },
    ]
    #expect(await eventually { ends.withLock { $0.count } == 4 })
    #expect(ends.withLock { $0 } == Array(repeating: succeeds ? "201 0" : "0 1001", count: 4))
    #expect(tasks.allSatisfy { $0.state == .completed && $0.response?.status == (succeeds ? 201 : nil) })
    #expect((try? await user.sendAuthenticatedRequest(request))?.body == (succeeds ? [1] : nil))
  }
}
