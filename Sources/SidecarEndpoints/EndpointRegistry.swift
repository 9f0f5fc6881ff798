package import PosternSupport
package import SidecarAccess

/// The endpoints of this process, as a tree. Their sockets are the program's (`EndpointSockets`).
package final class EndpointRegistry: Sendable {
  private let clock: any EngineClock

  package init(clock: any EngineClock) { self.clock = clock }
}

/// Makes and closes the sockets of endpoints.
package protocol EndpointSockets: Sendable {
  /// Listens on new socket files for `narrowing`'s endpoint, whose calls are of `maker`. `process`: it alone may
  /// connect.
  func open(_ endpoint: EndpointSocketRequest) async throws(EndpointSocketError) -> OpenedEndpoint
  /// Stops listening, and removes the files. Connections are closed by whoever has them.
  func close(_ id: String)
}

/// What an endpoint needs in sockets.
package struct EndpointSocketRequest: Sendable {
  package let narrowing: Narrowing
  package let maker: Peer
  /// The process that alone may connect.
  package let process: Int32?
  /// Whether a connected descriptor is wanted.
  package let wantsDescriptor: Bool
  /// Whether a second socket that speaks HTTP is wanted.
  package let wantsHTTP: Bool

  package init(narrowing: Narrowing, maker: Peer, process: Int32?, wantsDescriptor: Bool, wantsHTTP: Bool) {
    self.narrowing = narrowing
    self.maker = maker
    self.process = process
    self.wantsDescriptor = wantsDescriptor
    self.wantsHTTP = wantsHTTP
  }
}

/// The sockets of an endpoint.
package struct OpenedEndpoint: Sendable {
  package let path: String?
  package let httpPath: String?
  /// A connected descriptor, to be passed to the maker and closed.
  package let descriptor: PassedDescriptor?

  package init(path: String?, httpPath: String?, descriptor: PassedDescriptor?) {
    self.path = path
    self.httpPath = httpPath
    self.descriptor = descriptor
  }
}

/// Why an endpoint has no sockets.
package enum EndpointSocketError: Error, Sendable, Hashable {
  /// There is no directory for socket files: the main socket was inherited, say.
  case noDirectory
  /// The gateway is off.
  case noGateway
  /// No such process, or one that cannot be watched.
  case noProcess
  /// Too many endpoints, or no descriptor is left.
  case exhausted
  /// A system call failed.
  case failed(String)
}
