package import HTTPMessages
package import Logging
package import PosternConfiguration
package import PosternObservability
package import PosternProtocol
package import PosternSupport

extension SidecarService {
  /// The parts of the process that the service needs.
  package struct Dependencies: Sendable {
    /// How HTTP leaves the process.
    package var transports: Transports
    /// The clocks.
    package var clock: any EngineClock
    /// The log; its level is that of the configuration at start.
    package var logger: Logger
    /// Where sessions are kept.
    package var storage: SessionStorage
    /// Where decisions are recorded; nil: nowhere.
    package var audit: AuditLog?
    /// Where spans of sampled calls go; nil: nowhere.
    package var spans: SpanExporter?
    /// The state of the process itself.
    package var process: ProcessState
    /// The errors of files that were replaced.
    package var replacements: FileReloadMonitor
    /// Called at the end of each call, with the bytes of the message it came in.
    package var onCallEnd: @Sendable (Int) -> Void = { _ in }
    /// How the configuration is read again.
    package var reload: Reload

    /// Dependencies of the given parts.
    package init(
      transport: any HTTPTransport, clock: any EngineClock, logger: Logger, libraries: GetInfo.Libraries,
      storage: SessionStorage,
      loadConfiguration: @escaping @Sendable () throws(ConfigurationProblems) -> ConfigurationLoader.Loaded
    ) {
      transports = Transports(common: transport)
      self.clock = clock
      self.logger = logger
      process = ProcessState(libraries: libraries)
      self.storage = storage
      replacements = FileReloadMonitor(logger: logger)
      reload = Reload(load: loadConfiguration)
    }
  }

  /// How the configuration is read again.
  package struct Reload: Sendable {
    /// Reads it, from where it came.
    package var load: @Sendable () throws(ConfigurationProblems) -> ConfigurationLoader.Loaded
    /// Called at each phase of a reload.
    package var onPhase: @Sendable (ReloadPhase) -> Void = { _ in }
  }

  /// How HTTP leaves the process.
  package struct Transports: Sendable {
    /// The transport of everything that has no other.
    package var common: any HTTPTransport
    /// Makes the transport of one of so many resources that have HTTP/2; nil: the common one carries all.
    package var makeHTTP2: (@Sendable (_ resource: String, _ count: Int) -> any HTTPTransport)?
    /// The outbound proxy of the transports: replaced with the configuration.
    package var proxy = OutboundProxySetting()
    /// The state of transports, now; nil if that is unknown.
    package var state: (@Sendable () -> TransportState)?
  }

  /// The state of the process itself.
  package struct ProcessState: Sendable {
    /// Versions of the libraries, for `getInfo`.
    package var libraries: GetInfo.Libraries
    /// The ids of users outside of this user namespace.
    package var unmapped = UnmappedIDs.none
    /// Whether a debugger is attached to it.
    package var isTraced: @Sendable () -> Bool = { false }
    /// Whether it has no file descriptor left.
    package var areDescriptorsOut: @Sendable () -> Bool = { FileDescriptors.areOut }
    /// How it protects itself, now; nil if that is unknown.
    package var hardening: (@Sendable () -> HardeningReport)?
  }
}
