package import HTTPMessages
package import Logging
package import PosternAudit
package import PosternConfiguration
package import PosternSupport
package import PosternTelemetry
package import SidecarAccess
package import SidecarEngine
package import SidecarObservability

extension SidecarService {
  /// The parts of the process that the service needs.
  package struct Dependencies: Sendable {
    /// How HTTP leaves the process.
    package var transport: any HTTPTransport
    /// The clocks.
    package var clock: any EngineClock
    /// The log; its level is that of the configuration at start.
    package var logger: Logger
    /// Versions of the libraries, for `getInfo`.
    package var libraries: LibraryVersions
    /// Where sessions are kept.
    package var storage: SessionStorage
    /// Where decisions are recorded; nil: nowhere.
    package var audit: AuditLog?
    /// Where spans of sampled calls go; nil: nowhere.
    package var spans: SpanExporter?
    /// Whether a debugger is attached to the process.
    package var isTraced: @Sendable () -> Bool = { false }
    /// The errors of files that were replaced.
    package var replacements: FileReloadMonitor
    /// Called at each phase of a reload.
    package var onReload: @Sendable (ReloadPhase) -> Void = { _ in }
    /// Whether this process has no file descriptor left.
    package var areDescriptorsOut: @Sendable () -> Bool = { FileDescriptors.areOut }
    /// Called at the end of each call, with the bytes of the message it came in.
    package var onCallEnd: @Sendable (Int) -> Void = { _ in }
    /// How the process protects itself, now; nil if that is unknown.
    package var hardening: (@Sendable () -> HardeningReport)?
    /// The ids of users outside of this user namespace.
    package var unmapped = UnmappedIDs.none
    /// Makes the transport of one of so many resources that have HTTP/2; nil: the common one carries all.
    package var http2Transport: (@Sendable (_ resource: String, _ count: Int) -> any HTTPTransport)?
    /// The state of transports, now; nil if that is unknown.
    package var transportState: (@Sendable () -> TransportState)?
    /// Reads the configuration again, from where it came.
    package var loadConfiguration: @Sendable () throws(ConfigurationProblems) -> ConfigurationLoader.Loaded

    /// Dependencies of the given parts.
    package init(
      transport: any HTTPTransport, clock: any EngineClock, logger: Logger, libraries: LibraryVersions,
      storage: SessionStorage,
      loadConfiguration: @escaping @Sendable () throws(ConfigurationProblems) -> ConfigurationLoader.Loaded
    ) {
      self.transport = transport
      self.clock = clock
      self.logger = logger
      self.libraries = libraries
      self.storage = storage
      replacements = FileReloadMonitor(logger: logger)
      self.loadConfiguration = loadConfiguration
    }
  }
}
