import Foundation
import PosternKit
import PosternURLLoading

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The code of proto-docs/migration/onewelcome.md; a test compares the page with it.
struct MigrationOnegini {
  func setUp() async throws -> Postern {
    let postern = try await Postern(configuration: "postern.yaml")
    return postern
  }

  func clients(_ postern: Postern) throws -> (UserClient, DeviceClient) {
    let userClient = try postern.userClient(for: "users")
    let deviceClient = try postern.deviceClient(for: "users")
    return (userClient, deviceClient)
  }

  enum Shared {
    static let postern = Task { try await Postern(configuration: "postern.yaml") }

    static var userClient: UserClient {
      get async throws { try await postern.value.userClient(for: "users") }
    }
  }

  func kinds(_ userClient: UserClient, _ deviceClient: DeviceClient) async throws -> [ResourceResponse] {
    let request = ResourceRequestFactory.makeResourceRequest(path: "api/users", method: .get)
    let authenticated = try await userClient.sendAuthenticatedRequest(request)
    let implicit = try await userClient.sendImplicitRequest(request)
    let anonymous = try await deviceClient.sendAuthenticatedRequest(request)
    let unauthenticated = try await deviceClient.sendUnauthenticatedRequest(request)
    return [authenticated, implicit, anonymous, unauthenticated]
  }

  func completion(_ userClient: UserClient, print: @escaping @Sendable (Any) -> Void) {
    let request = ResourceRequestFactory.makeResourceRequest(path: "api/users", method: .get)
    userClient.sendAuthenticatedRequest(request) { result in
      switch result {
      case .success(let response): print(response.status)
      case .failure(let error): print(error)
      }
    }
  }

  func parts(_ userClient: UserClient, print: @escaping @Sendable (Any) -> Void) {
    let request = ResourceRequestFactory.makeResourceRequest(path: "api/users", method: .get)
    userClient.sendAuthenticatedRequest(request) { response, error in
      if let response { print(response.status) } else if let error { print(error.code.reason) }
    }
  }

  func login(_ postern: Postern) async throws -> Session {
    let user = try await postern.sessions.login()
    return user
  }

  func implicit(_ postern: Postern, user: Session, profile: String) async throws -> UserClient {
    let implicitSession = try await postern.sessions.create(from: .implicit(profile: profile))
    let userClient = try postern.userClient(
      for: "users", session: user.handle, implicitSession: implicitSession.handle)
    return userClient
  }

  func construction() -> [ResourceRequest] {
    let request = ResourceRequestFactory.makeResourceRequest(
      path: "api/users", method: .post, parameters: ["username": "foo@bar.baz"], headers: ["X-Flags": "1000010"],
      parametersEncoding: .json)

    // mutable version
    var mutable = MutableResourceRequest(path: "api/users", method: .get)
    mutable.headers = ["X-Flags": "1000010"]
    mutable.parameters = ["username": "foo@bar.baz"]
    mutable.parametersEncoding = .json
    return [request, mutable.resourceRequest]
  }

  func foundation(_ parameters: [String: Any]) throws -> ResourceRequest {
    let request = try ResourceRequestFactory.makeResourceRequest(
      path: "api/users", method: .post, parameters: parameters, body: nil, headers: nil, parametersEncoding: .JSON)
    return request
  }

  func multipart(_ data: Data) -> ResourceRequest {
    let request = ResourceRequestFactory.makeMultipartResourceRequest(
      path: "api/documents", parameters: ["title": "Receipt"],
      multipartData: [
        MultipartData(name: "file", fileName: "receipt.pdf", mimeType: "application/pdf", data: data)
      ])
    return request
  }

  func builder() -> ResourceRequest {
    let request = ResourceRequestBuilder()
      .setMethod("GET").setPath("api/users").setParameters(["username": "foo@bar.baz"]).build()
    return request
  }

  func response(
    _ userClient: UserClient, _ request: ResourceRequest, print: (Any) -> Void
  ) async throws {
    let response = try await userClient.sendAuthenticatedRequest(request)
    if response.status < 400 {
      let json = try JSONSerialization.jsonObject(with: response.data)
      print(json)
    } else {
      print("\(response.httpURLResponse.statusCode): \(response.text ?? "")")
    }
  }

  struct User: Decodable {
    let username: String
  }

  func decoded(_ response: ResourceResponse) throws -> User {
    let user = try response.decode(User.self)
    return user
  }

  func failure(_ userClient: UserClient, _ request: ResourceRequest, print: (Any) -> Void) async {
    do throws(ResourceError) {
      let response = try await userClient.sendAuthenticatedRequest(request)
      print(response.status)
    } catch {
      switch error.code {
      case .notAuthenticated: print("the user is not authenticated")
      case .requestCancelled: break
      default: print("\(error.code.reason): \(error.detail)")
      }
    }
  }

  func task(
    _ userClient: UserClient, _ request: ResourceRequest, print: @escaping @Sendable (Any) -> Void
  ) -> NetworkTask {
    let task = userClient.sendAuthenticatedRequest(request) { result in
      if case .failure(let error) = result { print(error) }
    }
    task.suspend()
    print("\(task.identifier) is \(task.state): \(task.request.path)")
    task.resume()
    task.cancel()
    return task
  }

  func pinMismatch(_ deviceClient: DeviceClient, _ request: ResourceRequest, print: (Any) -> Void) async {
    do throws(ResourceError) {
      _ = try await deviceClient.sendUnauthenticatedRequest(request)
    } catch {
      if error.code == .pinMismatch { print("not the server of the pins: \(error.detail)") }
    }
  }
}
